// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/messages.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>

#include "collectives/native/bindings/array.h"
#include "collectives/native/bindings/python_connector.h"
#include "collectives/native/bindings/waiting_policy.h"
#include "collectives/native/rank_connections.h"
#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

constexpr std::int64_t kMostTag = std::numeric_limits<std::uint32_t>::max();

// A transfer with the array that it is on.
struct Posted {
  Array array;
  TransferPtr transfer;
  std::weak_ptr<Messages> messages;

  ~Posted() {
    if (transfer == nullptr || transfer->done) return;
    nb::gil_scoped_release release;
    if (auto still = messages.lock()) {
      still->fail(Error(ErrorCode::kInvalid, "the array was dropped of " + transfer->describe()));
    }
  }
};

Posted* start(const std::shared_ptr<Messages>& self, bool sends, nb::handle array,
              std::optional<int> from, std::int64_t tag) {
  const std::string what = sends ? "send" : "recv";
  const int ranks = self->ranks();
  const int peer = from.value_or(Transfer::kAnyRank);
  if (peer >= ranks || (from && peer < 0)) {
    throw Error(ErrorCode::kInvalid, what + ": rank " + std::to_string(peer) + ": ranks are 0 to " +
                                         std::to_string(ranks - 1));
  }
  if (tag < 0 || tag > kMostTag) {
    throw Error(ErrorCode::kInvalid, what + ": tag " + std::to_string(tag) + ": expected 0 to " +
                                         std::to_string(kMostTag));
  }
  auto posted = std::make_unique<Posted>();
  Array& held = posted->array;
  held.hold(array, "the array", !sends);
  if (!held.given()) throw Error(ErrorCode::kInvalid, what + " needs an array, but got None");
  posted->transfer = std::make_shared<Transfer>(
      sends ? Transfer::Kind::kSend : Transfer::Kind::kRecv, peer, static_cast<std::uint32_t>(tag),
      held.dtype(), held.data(), held.count());
  nb::gil_scoped_release release;
  posted->messages = self;
  self->start(posted->transfer);
  return posted.release();
}

bool wait(Messages& self, const Posted& posted, std::optional<double> limit_s) {
  const TransferPtr transfer = posted.transfer;
  nb::gil_scoped_release release;
  if (!limit_s) return self.wait(transfer);
  return self.wait(transfer, nanoseconds(*limit_s));
}

}  // namespace

void bind_messages(nb::module_& m) {
  nb::class_<Posted>(m, "Transfer",
                     "A send or receive, with its array: to be kept until it is done.")
      .def_prop_ro(
          "done", [](const Posted& self) { return self.transfer->done.load(); },
          "whether it has ended, successfully or not")
      .def_prop_ro(
          "source", [](const Posted& self) { return self.transfer->source; },
          "once a receive is done: the rank whose message it took");
  nb::class_<Messages>(m, "Messages", "One rank's sends to and receives from the others.")
      .def(
          nb::new_([](int rank, const std::vector<std::vector<int>>& hosts, nb::handle connector,
                      std::shared_ptr<Doorbell> doorbell, double timeout_s, bool crowded) {
            std::size_t ranks = 0;
            for (const auto& host : hosts) ranks += host.size();
            PythonConnector made_in_python(connector);
            std::vector<Pair> pairs =
                connect_pairs(rank, static_cast<int>(ranks), Hosts{hosts}, 0, made_in_python);
            const Waiting::Policy waiting = waiting_policy(timeout_s, crowded, over_sockets(pairs));
            return std::make_shared<Messages>(rank, std::move(pairs), std::move(doorbell), waiting);
          }),
          "rank"_a, "hosts"_a, "connector"_a, "doorbell"_a, "timeout_s"_a, "crowded"_a,
          "Connect every rank with every other one, those of a host over shared memory; all ranks "
          "together.")
      .def("start", &start, "sends"_a, "array"_a.none(), "peer"_a.none(), "tag"_a,
           "Start a send, or a receive: from any rank without a peer. UsageError where it cannot.")
      .def("wait", &wait, "transfer"_a, "limit_s"_a.none() = nb::none(),
           "Wait until it is done; False if it is not after the limit. Raises its error; without a "
           "limit WaitTimeoutError when nothing of it has moved for the timeout.")
      .def("finish_sends", &Messages::finish_sends, nb::call_guard<nb::gil_scoped_release>(),
           "Wait until all sends are done.")
      .def_prop_ro("is_amid", &Messages::is_amid, nb::call_guard<nb::gil_scoped_release>(),
                   "whether a transfer was started and is not done")
      .def_prop_ro(
          "waited_for",
          [](const Messages& self)
              -> std::optional<std::tuple<bool, std::uint64_t, int, std::size_t, int, double>> {
            TransferPtr one;
            {
              nb::gil_scoped_release release;
              one = self.waited_for();
            }
            if (!one) return std::nullopt;
            return std::make_tuple(one->kind == Transfer::Kind::kSend, one->number, one->peer,
                                   one->count, static_cast<int>(one->dtype), one->began_s);
          },
          nb::sig("def waited_for(self) -> tuple[bool, int, int, int, int, float] | None"),
          "the transfer that a caller waits for, or waited for when it failed: whether it sends, "
          "its number, peer, elements, dtype, when it began (seconds since 1970); for any thread");
}

}  // namespace railgauge
