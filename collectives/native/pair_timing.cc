// SPDX-License-Identifier: Apache-2.0
// Timed messages between two ranks. The clock runs in here, so that the overhead of a call does not
// hide short messages.
#include "collectives/native/host_engine.h"
#include "transports/native/error.h"

namespace railgauge {

namespace {

// One rank's part in messages between it and another.
class TimedPair {
 public:
  TimedPair(const Pair& pair, std::uint32_t tag, std::size_t channel, Waiting& waiting)
      : pair_(pair), tag_(tag), channel_(channel), waiting_(waiting) {}

  void once(ExchangeRole traffic, const std::byte* source, std::byte* destination,
            std::size_t bytes) {
    switch (traffic) {
      case ExchangeRole::kSend:
        return send(source, bytes);
      case ExchangeRole::kReceive:
        return receive(destination, bytes);
      case ExchangeRole::kBoth:
        return both(source, destination, bytes);
      case ExchangeRole::kAsk:
        send(source, bytes);
        return receive(destination, bytes);
      case ExchangeRole::kAnswer:
        receive(destination, bytes);
        return send(source, bytes);
    }
  }

  // A barrier of both ranks: each sends the other an empty message.
  void meet(const std::byte* source, std::byte* destination) { both(source, destination, 0); }

 private:
  void send(const std::byte* source, std::size_t bytes) {
    Task tasks[] = {send_all(*pair_.to, source, bytes, tag_)};
    run(tasks);
  }
  void receive(std::byte* destination, std::size_t bytes) {
    Task tasks[] = {recv_all(*pair_.from, destination, bytes, tag_)};
    run(tasks);
  }
  void both(const std::byte* source, std::byte* destination, std::size_t bytes) {
    Task tasks[] = {send_all(*pair_.to, source, bytes, tag_),
                    recv_all(*pair_.from, destination, bytes, tag_)};
    run(tasks);
  }
  void run(std::span<Task> tasks) {
    for (Task& task : tasks) task.on_channel(channel_);
    run_tasks(tasks, waiting_);
  }

  const Pair& pair_;
  std::uint32_t tag_;
  std::size_t channel_;
  Waiting& waiting_;
};

}  // namespace

double HostEngine::time_pair(int peer, ExchangeRole traffic, const std::byte* source,
                             std::byte* destination, std::size_t bytes, int ahead, int times) {
  if (peer < 0 || peer >= static_cast<int>(wiring_.pairs.size()) || !wiring_.pairs[peer].to) {
    throw Error(ErrorCode::kInvalid, "this rank has no connection with that one");
  }
  const Operation operation{Collective::kSendRecv, source, destination, bytes, Dtype::kUint8,
                            Redop::kSum,           0};
  const Subject subject = begin(operation, {0, Algorithm::kPairs, 1});
  TimedPair messages(wiring_.pairs[peer], tag_of(subject), channel_after_trees(0), waiting_);
  for (int i = 0; i < ahead; ++i) messages.once(traffic, source, destination, bytes);
  if (ahead > 0) messages.meet(source, destination);
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) messages.once(traffic, source, destination, bytes);
  // Sent data has arrived when the other rank is here too; an answer shows that by itself.
  if (traffic == ExchangeRole::kSend || traffic == ExchangeRole::kReceive) {
    messages.meet(source, destination);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  end();
  return times > 0 ? took.count() / times : 0;
}

}  // namespace railgauge
