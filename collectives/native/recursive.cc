// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/recursive.h"

#include <cstring>

#include "collectives/native/primitives.h"
#include "collectives/native/ready.h"

namespace railgauge {

namespace {

// Parts, cut into pieces that a slot holds.
class Pieces {
 public:
  Pieces(const std::vector<Part>& parts, std::size_t most) : parts_(parts), most_(most) { pass(); }

  bool empty() const { return at_ == parts_.size(); }
  Part next() {
    const Part& part = parts_[at_];
    const Part piece{part.offset + taken_, std::min(most_, part.count - taken_)};
    taken_ += piece.count;
    pass();
    return piece;
  }

 private:
  // What is taken, or empty from the start.
  void pass() {
    while (!empty() && taken_ == parts_[at_].count) ++at_, taken_ = 0;
  }

  const std::vector<Part>& parts_;
  std::size_t most_, at_ = 0, taken_ = 0;
};

}  // namespace

void Recursive::run(const Schedule& schedule, std::byte* buffer) const {
  Task one = task(schedule, buffer);
  one.on_channel(channel_);
  run_tasks({&one, 1}, waiting_);
}

// Lent data is next overwritten by data from the same neighbour, which has received all of it by
// then; if both ends reduce the same part it would be overwritten at once, and is copied.
Task Recursive::task(const Schedule& schedule, std::byte* buffer) const {
  for (const ScheduleStep& one : schedule) {
    const Pair& pair = cube_.peers[one.peer];
    const Primitives moves{pair.from.get(), pair.to.get(), nullptr, element_, false, tag_};
    const std::size_t chunk = pair.to->slot_bytes() / element_;
    Pieces give(one.give, chunk), take(one.take, chunk);
    while (!give.empty() || !take.empty()) {
      if (!give.empty()) {
        const Part piece = give.next();
        const std::byte* data = buffer + piece.offset * element_;
        if (one.kind == ScheduleStep::kReduceBoth) {
          Ready ready(tag_);
          ready.send(*pair.to);
          co_await ready;
          std::memcpy(ready.slot(0), data, piece.count * element_);
          ready.finish(piece.count * element_);
        } else {
          co_await moves.send(data, piece.count);
        }
      }
      if (take.empty()) continue;
      const Part piece = take.next();
      std::byte* data = buffer + piece.offset * element_;
      if (one.kind == ScheduleStep::kCopy) {
        co_await moves.recv(data, piece.count);
        continue;
      }
      Ready ready(tag_);
      ready.receive(*pair.from, piece.count * element_);
      co_await ready;
      // In the order of positions, so that both ends get the same bits.
      const void* inputs[] = {data, ready.message(0)};
      if (one.peer < cube_.position) std::swap(inputs[0], inputs[1]);
      if (one.ends) {
        reduction_.finish(data, nullptr, inputs, 2, piece.count, false);
      } else {
        reduction_.combine(data, nullptr, inputs, 2, piece.count);
      }
      ready.finish(piece.count * element_);
    }
  }
}

}  // namespace railgauge
