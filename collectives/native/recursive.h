// SPDX-License-Identifier: Apache-2.0
// What runs the schedules of recursive doubling and halving, for one operation on one hypercube.
#pragma once

#include "collectives/native/recursive_schedule.h"
#include "collectives/native/reduction.h"
#include "collectives/native/subject.h"
#include "transports/native/waiting.h"

namespace railgauge {

class Recursive {
 public:
  // `channel` is the number by which others know these connections; `scratch` is the
  // communicator's.
  Recursive(const Cube& cube, Waiting& waiting, const Reduction& reduction, std::size_t element,
            const Subject& subject, std::size_t channel, std::vector<std::byte>& scratch)
      : cube_(cube),
        waiting_(waiting),
        reduction_(reduction),
        element_(element),
        tag_(tag_of(subject)),
        channel_(channel),
        scratch_(scratch) {}

  const std::vector<int>& order() const { return cube_.order; }
  CubePlace place() const { return cube_.place(); }
  std::size_t element() const { return element_; }

  // Memory for partial results, the same in every call.
  std::byte* scratch(std::size_t bytes) const {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return scratch_.data();
  }

  // Runs a schedule of place() to its end, within `buffer`.
  void run(const Schedule& schedule, std::byte* buffer) const;

 private:
  Task task(const Schedule& schedule, std::byte* buffer) const;

  const Cube& cube_;
  Waiting& waiting_;
  const Reduction& reduction_;
  const std::size_t element_;
  const std::uint32_t tag_;
  const std::size_t channel_;
  std::vector<std::byte>& scratch_;
};

}  // namespace railgauge
