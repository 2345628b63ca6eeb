// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl/communicator.h"

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <sstream>
#include <thread>

#include "transports/native/cuda/waiting.h"

namespace railgauge::nccl {

namespace {

constexpr Type kTypes[kDtypes] = {6, 9, 7, 8, 0, 1, 2, 3, 4, 5, 10, 11};  // ncclDataType_t
constexpr Op kOps[kRedops] = {0, 1, 3, 2, 4};                             // ncclRedOp_t
constexpr int kFirstWithFloat8 = 22400;
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr double kPatience = 2;  // s: the clock gives up before the whole is ended

std::string within(double seconds) {
  std::ostringstream text;
  text << " within " << seconds << " s";
  return text.str();
}

// Ends calls that do not end by themselves: NCCL's calls wait for other ranks without a timeout.
class Watchdog {
 public:
  Watchdog(double seconds, std::function<void()> expire)
      : thread_([this, seconds, expire = std::move(expire)] {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                [&] { return over_; }))
            return;
          expire();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // the last one: it uses the others
};

}  // namespace

NcclCommunicator::NcclCommunicator(std::shared_ptr<const Library> library, int device, int rank,
                                   int ranks, double timeout_s)
    : library_(std::move(library)),
      ordinal_(device),
      rank_(rank),
      ranks_(ranks),
      timeout_s_(timeout_s),
      gpu_(device),
      clock_(gpu_.context()) {}

NcclCommunicator::~NcclCommunicator() {
  const cuda::Closing gpu(gpu_.context());
  if (const Comm comm = comm_.exchange(nullptr); comm && gpu) library_->destroy(comm);
}

// In a thread of its own, which is abandoned if the others do not arrive: until a communicator is
// made, its creation cannot be aborted safely.
void NcclCommunicator::connect(const UniqueId& id) {
  struct Joining {
    Comm comm = nullptr;
    std::promise<Result> over;
  };
  const auto joining = std::make_shared<Joining>();
  auto over = joining->over.get_future();
  std::thread([joining, library = library_, context = gpu_.context(), id, rank = rank_,
               ranks = ranks_] {
    try {
      const cuda::Current current(context);
      joining->over.set_value(library->init(&joining->comm, ranks, id, rank));
    } catch (...) {
      joining->over.set_exception(std::current_exception());
    }
  }).detach();
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s_);
  while (over.wait_for(kLook) != std::future_status::ready) {
    if (aborted_) throw Error(ErrorCode::kAborted, "asked to stop while NCCL connected its ranks");
    if (std::chrono::steady_clock::now() > until) {
      throw Error(ErrorCode::kTimeout, "NCCL did not connect its ranks" + within(timeout_s_));
    }
  }
  check(over.get(), "connecting ranks");
  comm_ = joining->comm;
  if (aborted_) abort();
}

void NcclCommunicator::run(const Operation& operation, Stream stream) {
  const Comm comm = this->comm();
  const Type type = kTypes[static_cast<int>(operation.dtype)];
  const Op op = kOps[static_cast<int>(operation.op)];
  const auto& [collective, source, destination, count, dtype, redop, root] = operation;
  const std::string what = std::string("starting ") + collective_name(collective);
  library_->need(type < kTypes[static_cast<int>(Dtype::kFloat8E4m3)] ||
                     library_->version() >= kFirstWithFloat8,
                 dtype_name(dtype), "2.24");
  const cuda::Current current(gpu_.context());
  switch (collective) {
    case Collective::kAllReduce:
      return check(library_->all_reduce(source, destination, count, type, op, comm, stream), what);
    case Collective::kAllGather:
      return check(library_->all_gather(source, destination, count, type, comm, stream), what);
    case Collective::kReduceScatter:
      return check(library_->reduce_scatter(source, destination, count, type, op, comm, stream),
                   what);
    case Collective::kBroadcast:
      return check(library_->broadcast(source, destination, count, type, root, comm, stream), what);
    case Collective::kReduce:
      return check(library_->reduce(source, destination, count, type, op, root, comm, stream),
                   what);
    case Collective::kAllToAll:
      if (!library_->all_to_all) break;
      return check(library_->all_to_all(source, destination, count, type, comm, stream), what);
    case Collective::kGather:
      if (!library_->gather) break;
      return check(library_->gather(source, destination, count, type, root, comm, stream), what);
    case Collective::kScatter:
      if (!library_->scatter) break;
      return check(library_->scatter(source, destination, count, type, root, comm, stream), what);
    default:
      break;
  }
  in_parts(operation, comm, stream);
}

void NcclCommunicator::in_parts(const Operation& operation, Comm comm, Stream stream) const {
  const bool is_root = rank_ == operation.root;
  const std::size_t part = operation.count * operation.element_bytes();
  const Type type = kTypes[static_cast<int>(operation.dtype)];
  Result failed = library_->group_start();
  const auto send = [&](const std::byte* from, int peer) {
    if (!failed) failed = library_->send(from, operation.count, type, peer, comm, stream);
  };
  const auto receive = [&](std::byte* to, int peer) {
    if (!failed) failed = library_->receive(to, operation.count, type, peer, comm, stream);
  };
  switch (operation.collective) {
    case Collective::kAllToAll:
      for (int peer = 0; peer < ranks_; ++peer) {
        send(operation.source + peer * part, peer);
        receive(operation.destination + peer * part, peer);
      }
      break;
    case Collective::kGather:
      send(operation.source, operation.root);
      for (int peer = 0; is_root && peer < ranks_; ++peer)
        receive(operation.destination + peer * part, peer);
      break;
    case Collective::kScatter:
      for (int peer = 0; is_root && peer < ranks_; ++peer)
        send(operation.source + peer * part, peer);
      receive(operation.destination, operation.root);
      break;
    default:  // kSendRecv
      send(operation.source, (rank_ + 1) % ranks_);
      receive(operation.destination, (rank_ + ranks_ - 1) % ranks_);
  }
  const Result ended = library_->group_end();
  check(failed ? failed : ended, std::string("starting ") + collective_name(operation.collective));
}

double NcclCommunicator::repeat(const Operation& operation, int ahead, int times, int replays) {
  double seconds = 0;
  in_time(collective_name(operation.collective), [&] {
    const auto launch = [&](Stream stream) { run(operation, stream); };
    seconds = clock_.time(launch, ahead, times, replays, timeout_s_);
    Result failed = 0;
    check(library_->async_error(comm(), &failed), "asking for errors");
    check(failed, collective_name(operation.collective));
  });
  return seconds;
}

void NcclCommunicator::in_time(const char* what, const std::function<void()>& work) {
  std::atomic<bool> expired = false;
  {
    const Watchdog watchdog(timeout_s_ + kPatience, [&] {
      expired = true;
      abort();
    });
    try {
      work();
      if (!aborted_) return;
    } catch (...) {
      if (!aborted_) {
        abort();
        throw;
      }
    }
  }
  if (expired)
    throw Error(ErrorCode::kTimeout,
                std::string(what) + ": NCCL was not done" + within(timeout_s_));
  throw Error(ErrorCode::kAborted, std::string("asked to stop in ") + what);
}

void NcclCommunicator::abort() {
  aborted_ = true;
  if (const Comm comm = comm_.exchange(nullptr)) library_->abort(comm);
}

Comm NcclCommunicator::comm() const {
  const Comm comm = comm_;
  if (!comm)
    throw Error(ErrorCode::kAborted, "this NCCL communicator has ended, or is not connected");
  return comm;
}

}  // namespace railgauge::nccl
