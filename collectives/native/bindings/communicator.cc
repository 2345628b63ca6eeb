// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/communicator.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using Input = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using Output = nb::ndarray<nb::device::cpu, nb::c_contig>;
using Seconds = std::chrono::duration<double>;
using Lengths = std::vector<std::pair<std::size_t, std::size_t>>;

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds));
}

// Bytes of source and destination that an operation touches on this rank.
std::pair<std::size_t, std::size_t> extent(const Operation& operation, int rank, int ranks) {
  const std::size_t one = operation.count * operation.element_bytes(), all = one * ranks;
  const bool root = rank == operation.root;
  switch (operation.collective) {
    case Collective::kAllGather:
      return {one, all};
    case Collective::kReduceScatter:
      return {all, one};
    case Collective::kAllToAll:
      return {all, all};
    case Collective::kReduce:
      return {one, root ? one : 0};
    case Collective::kGather:
      return {one, root ? all : 0};
    case Collective::kScatter:
      return {root ? all : 0, one};
    case Collective::kBroadcast:
      return {root ? one : 0, one};
    default:
      return {one, one};
  }
}

Dtype dtype_from(int number) {
  if (number < 0 || number >= kDtypes) throw Error(ErrorCode::kInvalid, "no such type");
  return static_cast<Dtype>(number);
}

// Runs an operation `ahead` times and then `times` times; returns the seconds that one of the
// latter took.
double run(Communicator& self, int collective, const Input& source, const Output& destination,
           std::size_t count, int dtype, int op, int root, int ahead, int times) {
  if (collective < 0 || collective >= kCollectives || op < 0 || op >= kRedops || root < 0 ||
      root >= self.ranks()) {
    throw Error(ErrorCode::kInvalid, "no such collective, operator or root");
  }
  const Operation operation{static_cast<Collective>(collective),
                            static_cast<const std::byte*>(source.data()),
                            static_cast<std::byte*>(destination.data()),
                            count,
                            dtype_from(dtype),
                            static_cast<Redop>(op),
                            root};
  auto [in, out] = extent(operation, self.rank(), self.ranks());
  if (source.nbytes() < in || destination.nbytes() < out) {
    throw Error(ErrorCode::kInvalid, "a buffer is shorter than count says");
  }
  nb::gil_scoped_release release;
  for (int i = 0; i < ahead; ++i) self.run(operation);
  auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) self.run(operation);
  return times ? Seconds(std::chrono::steady_clock::now() - before).count() / times : 0;
}

std::vector<Part> parts(const Lengths& lengths, std::size_t element, std::size_t bytes) {
  std::vector<Part> found;
  for (auto [offset, count] : lengths) {
    if (offset > bytes / element || count > bytes / element - offset) {
      throw Error(ErrorCode::kInvalid, "a part reaches beyond its buffer");
    }
    found.push_back({offset, count});
  }
  return found;
}

void all_to_all_v(Communicator& self, const Input& source, const Lengths& to,
                  const Output& destination, const Lengths& from, int dtype) {
  const Dtype type = dtype_from(dtype);
  auto give = parts(to, dtype_bytes(type), source.nbytes());
  auto take = parts(from, dtype_bytes(type), destination.nbytes());
  if (static_cast<int>(give.size()) != self.ranks() ||
      static_cast<int>(take.size()) != self.ranks()) {
    throw Error(ErrorCode::kInvalid, "there is a part for every rank");
  }
  nb::gil_scoped_release release;
  self.all_to_all_v(static_cast<const std::byte*>(source.data()), give,
                    static_cast<std::byte*>(destination.data()), take, type);
}

}  // namespace

// What there is to know of a caller's array before it is used.
struct ArrayFacts {
  int code, bits;  // DLPack's
  std::size_t count;
  std::uintptr_t address;
  bool on_host, contiguous, read_only;
};

bool is_contiguous(const nb::ndarray<nb::ro>& array) {
  std::int64_t expected = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != expected) return array.size() == 0;
    expected *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

std::optional<ArrayFacts> describe_array(nb::handle object) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array)) return std::nullopt;
  nb::ndarray<> writable;
  auto dtype = array.dtype();
  return ArrayFacts{dtype.code,
                    dtype.bits * dtype.lanes,
                    array.size(),
                    reinterpret_cast<std::uintptr_t>(array.data()),
                    array.device_type() == nb::device::cpu::value,
                    is_contiguous(array),
                    !nb::try_cast(object, writable)};
}

void bind_communicator(nb::module_& m) {
  nb::class_<ArrayFacts>(m, "ArrayFacts", "What there is to know of an array.")
      .def_ro("code", &ArrayFacts::code, "DLPack's code of the element type")
      .def_ro("bits", &ArrayFacts::bits)
      .def_ro("count", &ArrayFacts::count)
      .def_ro("address", &ArrayFacts::address)
      .def_ro("on_host", &ArrayFacts::on_host)
      .def_ro("contiguous", &ArrayFacts::contiguous)
      .def_ro("read_only", &ArrayFacts::read_only);
  m.def("describe_array", &describe_array, "object"_a,
        "Look at what exports DLPack or the buffer protocol; None for anything else.");

  nb::class_<RingChannel>(m, "RingChannel", "A ring as one rank sees it.")
      .def(
          "__init__",
          [](RingChannel* self, int position, std::vector<int> order, std::shared_ptr<Sender> next,
             std::shared_ptr<Receiver> previous) {
            const int ranks = static_cast<int>(order.size());
            new (self) RingChannel{position, ranks, std::move(next), std::move(previous),
                                   std::move(order)};
          },
          "position"_a, "order"_a, "next"_a.none(), "previous"_a.none());

  nb::class_<TreeEdge>(m, "TreeEdge", "Both connections with a neighbour in a tree.")
      .def(
          "__init__",
          [](TreeEdge* self, std::shared_ptr<Sender> to, std::shared_ptr<Receiver> from) {
            new (self) TreeEdge{std::move(to), std::move(from)};
          },
          "to"_a.none() = nb::none(), "from_"_a.none() = nb::none());
  nb::class_<TreeChannel>(m, "TreeChannel", "A tree as one rank sees it.")
      .def(
          "__init__",
          [](TreeChannel* self, const TreeEdge& parent, std::vector<TreeEdge> children) {
            new (self) TreeChannel{parent, std::move(children)};
          },
          "parent"_a, "children"_a);
  nb::class_<Pair>(m, "Pair", "Both connections with another rank, for point to point.")
      .def(
          "__init__",
          [](Pair* self, std::shared_ptr<Sender> to, std::shared_ptr<Receiver> from) {
            new (self) Pair{std::move(to), std::move(from)};
          },
          "to"_a.none() = nb::none(), "from_"_a.none() = nb::none());

  nb::class_<Communicator>(m, "Communicator", "One rank's connections, and operations on them.")
      .def(
          "__init__",
          [](Communicator* self, int rank, int ranks, std::shared_ptr<Doorbell> doorbell,
             std::vector<RingChannel> rings, std::vector<TreeChannel> trees,
             std::shared_ptr<shm::Board> board, double timeout_s, double spin_s,
             std::size_t min_channel_bytes, std::size_t stream_bytes) {
            new (self) Communicator(
                rank, ranks, std::move(doorbell),
                {std::move(rings), std::move(trees), std::move(board), {}},
                {{nanoseconds(timeout_s), nanoseconds(spin_s)}, min_channel_bytes, stream_bytes});
          },
          "rank"_a, "ranks"_a, "doorbell"_a, "rings"_a, "trees"_a, "board"_a.none(), "timeout_s"_a,
          "spin_s"_a, "min_channel_bytes"_a, "stream_bytes"_a)
      .def("connect_pairs", &Communicator::connect_pairs, "pairs"_a)
      .def_prop_ro("has_pairs", &Communicator::has_pairs)
      .def(
          "choose",
          [](Communicator& self, int collective,
             const std::vector<std::tuple<std::size_t, int, int>>& choices) {
            std::vector<Choice> all;
            for (auto [bytes, algorithm, channels] : choices) {
              all.push_back({bytes, static_cast<Algorithm>(algorithm), channels});
            }
            self.choose(static_cast<Collective>(collective), std::move(all));
          },
          "collective"_a, "choices"_a,
          "How to run a collective: (up to so many bytes, algorithm, most channels), the last one "
          "for all above.")
      .def(
          "choice",
          [](const Communicator& self, int collective, std::size_t count, int dtype) {
            Choice choice = self.choice({static_cast<Collective>(collective), nullptr, nullptr,
                                         count, dtype_from(dtype), Redop::kSum, 0});
            return std::make_tuple(static_cast<int>(choice.algorithm), choice.channels);
          },
          "collective"_a, "count"_a, "dtype"_a, "(algorithm, channels) for so many elements")
      .def("run", &run, "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a,
           "root"_a, "ahead"_a = 0, "times"_a = 1,
           "Run it `ahead` times, then `times` times; return the seconds that one of the latter "
           "took.")
      .def("all_to_all_v", &all_to_all_v, "source"_a, "to"_a, "destination"_a, "from_"_a, "dtype"_a,
           "Send and receive parts (offset, count), one for each rank.")
      .def_prop_ro(
          "operation", [](const Communicator& self) { return describe(self.subject()); },
          "the operation that this rank is in, or was in last")
      .def_prop_ro(
          "blocked_on",
          [](const Communicator& self) {
            BlockedOn on = self.blocked_on();
            return std::make_tuple(on.rank, on.frees_slot != 0);
          },
          "(rank, whether it has to free a slot; else send data); rank -1: waits for nobody");
}

}  // namespace railgauge
