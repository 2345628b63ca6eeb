// SPDX-License-Identifier: Apache-2.0
// One call of a collective from Python: its operation, checked, and the arrays that it is on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/native/bindings/array.h"
#include "collectives/native/communicator.h"
#include "collectives/native/pairs.h"

namespace railgauge {

class Call {
 public:
  using Counts = std::vector<std::int64_t>;

  // A barrier.
  Call();

  // The count follows from the arrays. Throws Error(kInvalid) if they do not match: see Array,
  // other sizes or types, or overlapping other than in place.
  Call(const Communicator& comm, int collective, nanobind::handle source,
       nanobind::handle destination, int op, int root);
  // A sum of each rank's source times its own `factor`.
  Call(const Communicator& comm, int collective, nanobind::handle source,
       nanobind::handle destination, double factor, int root);
  // An all-to-all with so many elements for, and from, each rank.
  Call(const Communicator& comm, nanobind::handle source, const Counts& to,
       nanobind::handle destination, const Counts& from);

  bool in_pairs() const { return in_pairs_; }
  // On the communicator that it was made for, without the GIL. Throws Error.
  void run(Communicator& comm);

 private:
  void check_given(const Extent& one);
  void check_types();
  void check_reduction();
  void check_counts(const Extent& one, const Communicator& comm);
  bool overlap() const;

  Array source_, destination_;
  Operation operation_{};
  std::vector<Part> to_, from_;  // of an all-to-all of any lengths; else empty
  std::optional<double> factor_;
  bool in_pairs_;
};

}  // namespace railgauge
