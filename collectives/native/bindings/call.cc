// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/bindings/call.h"

#include <string>

#include "collectives/native/host_engine.h"
#include "collectives/native/scale.h"
#include "transports/native/error.h"

namespace nb = nanobind;

namespace railgauge {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::kInvalid, why); }

std::vector<Part> parts_of_counts(const Call::Counts& counts, int ranks, const Array& array,
                                  const char* what) {
  const std::size_t each = array.elements() == Array::Elements::kComplex ? 2 : 1;
  const std::size_t all = array.count() / each;
  std::vector<Part> parts;
  std::size_t at = 0;
  bool fits = static_cast<int>(counts.size()) == ranks;
  for (std::int64_t count : counts) {
    if (count < 0 || static_cast<std::size_t>(count) > all - at) {
      fits = false;
      break;
    }
    parts.push_back({at * each, static_cast<std::size_t>(count) * each});
    at += count;
  }
  if (!fits || at != all) {
    refuse(std::string("alltoallv: ") + what + " must be " + std::to_string(ranks) +
           " counts whose sum is the array's " + std::to_string(all) + " elements");
  }
  return parts;
}

}  // namespace

Call::Call() : operation_{.collective = Collective::kBarrier}, in_pairs_(false) {}

Call::Call(const Communicator& comm, int collective, nb::handle source, nb::handle destination,
           int op, int root) {
  if (collective < 0 || collective >= kCollectives) refuse("unknown collective");
  if (op < 0 || op >= kHostRedops) refuse("unknown operator");
  operation_.collective = static_cast<Collective>(collective);
  operation_.op = static_cast<Redop>(op);
  operation_.root = root;
  operation_.count = 1;
  const Extent one = operation_.extent(comm.rank(), comm.ranks());
  // A root's in-place source is not written.
  const bool one_array = source.is(destination);
  const bool kept =
      one_array && operation_.collective == Collective::kBroadcast && comm.rank() == root;
  destination_.hold(destination, one_array ? "the array" : "destination",
                    one.destination > 0 && !kept);
  if (one_array) {
    source_.borrow(destination_);
  } else {
    source_.hold(source, "source", false);
  }
  check_given(one);
  check_types();
  if (operation_.reduces()) check_reduction();
  operation_.count =
      one.destination ? destination_.count() / one.destination : source_.count() / one.source;
  check_counts(one, comm);
  operation_.source = source_.data();
  operation_.destination = destination_.data();
  check(operation_, comm.rank(), comm.ranks());
  in_pairs_ = comm.ranks() > 1 && comm.engine().choice(operation_).algorithm == Algorithm::kPairs;
}

Call::Call(const Communicator& comm, int collective, nb::handle source, nb::handle destination,
           double factor, int root)
    : Call(comm, collective, source, destination, static_cast<int>(Redop::kSum), root) {
  if (!operation_.reduces()) refuse("only reductions take a factor");
  const std::string type = source_.type_name();
  if (source_.elements() == Array::Elements::kBools) refuse("premul_sum does not reduce " + type);
  if (is_integer(operation_.dtype) && !fits(operation_.dtype, factor)) {
    refuse("premul_sum: " + std::to_string(factor) + " is not a number of type " + type);
  }
  factor_ = factor;
}

Call::Call(const Communicator& comm, nb::handle source, const Counts& to, nb::handle destination,
           const Counts& from)
    : in_pairs_(true) {
  operation_.collective = Collective::kAllToAllV;
  source_.hold(source, "source", false);
  destination_.hold(destination, "destination", true);
  check_given({1, 1});
  check_types();
  to_ = parts_of_counts(to, comm.ranks(), source_, "send_counts");
  from_ = parts_of_counts(from, comm.ranks(), destination_, "recv_counts");
  if (overlap()) refuse("alltoallv: source and destination overlap");
  if (to_[comm.rank()].count != from_[comm.rank()].count) {
    refuse("alltoallv: this rank, " + std::to_string(comm.rank()) + ", sends itself " +
           std::to_string(to_[comm.rank()].count) + " elements and expects " +
           std::to_string(from_[comm.rank()].count));
  }
}

void Call::run(Communicator& comm) {
  nb::gil_scoped_release release;
  std::vector<std::byte> scaled;
  if (factor_) {
    scaled.resize(source_.bytes());
    scale(scaled.data(), source_.data(), source_.count(), operation_.dtype, *factor_);
    operation_.source = scaled.data();
  }
  switch (operation_.collective) {
    case Collective::kBarrier:
      return comm.barrier();
    case Collective::kAllToAllV:
      return comm.engine().all_to_all_v(source_.data(), to_, destination_.data(), from_,
                                        operation_.dtype);
    default:
      return comm.engine().run(operation_);  // which was checked when this was made
  }
}

// `one`: what this rank needs for a count of 1.
void Call::check_given(const Extent& one) {
  const bool lacks_source = one.source > 0 && !source_.given();
  if (!lacks_source && (one.destination == 0 || destination_.given())) return;
  refuse(std::string(collective_name(operation_.collective)) + ": this rank needs a " +
         (lacks_source ? "source" : "destination") + ", but got None");
}

void Call::check_types() {
  if (source_.given() && destination_.given() &&
      (source_.dtype() != destination_.dtype() || source_.elements() != destination_.elements())) {
    refuse(std::string("source is ") + source_.type_name() + ", destination " +
           destination_.type_name());
  }
  operation_.dtype = (source_.given() ? source_ : destination_).dtype();
}

// Bools are bytes of 0 and 1, on which other operators do the same. Of complex numbers only sums
// are those of their parts.
void Call::check_reduction() {
  const Array& array = source_.given() ? source_ : destination_;
  const Redop op = operation_.op;
  bool can = reduces_by(operation_.dtype, op);
  if (array.elements() == Array::Elements::kBools) {
    can = op != Redop::kAvg;
    if (op == Redop::kSum || op == Redop::kBitOr) operation_.op = Redop::kMax;
    if (op == Redop::kProd || op == Redop::kBitAnd) operation_.op = Redop::kMin;
  } else if (array.elements() == Array::Elements::kComplex) {
    can = op == Redop::kSum || op == Redop::kAvg;
  }
  if (can) return;
  refuse(std::string(collective_name(operation_.collective)) + ": " + redop_name(op) +
         " does not reduce " + array.type_name());
}

// An array that this rank does not need may have any size.
void Call::check_counts(const Extent& one, const Communicator& comm) {
  const Extent need = operation_.extent(comm.rank(), comm.ranks());
  if ((one.source && source_.count() != need.source) ||
      (one.destination && destination_.count() != need.destination)) {
    refuse(std::string(collective_name(operation_.collective)) + " over " +
           std::to_string(comm.ranks()) + " ranks: source has " + std::to_string(source_.count()) +
           " elements and destination " + std::to_string(destination_.count()) + ", where " +
           std::to_string(need.source) + " and " + std::to_string(need.destination) +
           " belong together");
  }
}

bool Call::overlap() const {
  return source_.data() < destination_.data() + destination_.bytes() &&
         destination_.data() < source_.data() + source_.bytes();
}

}  // namespace railgauge
