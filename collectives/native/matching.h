// SPDX-License-Identifier: Apache-2.0
// Which receive takes which message, as in MPI: a message goes to the receive that was posted first
// among those for its rank and tag; a receive takes the message of its rank and tag that arrived
// first. So messages of one rank with one tag stay in order.
#pragma once

#include <list>
#include <optional>
#include <vector>

#include "collectives/native/transfer.h"

namespace railgauge {

// A message that no receive has taken yet.
struct Arrived {
  int rank;
  Envelope envelope{};
  bool is_offer = false;  // of a long one, whose data comes once the offer is accepted
  std::uint32_t offer = 0;
  std::vector<std::byte> data = {};  // of a short one
  TransferPtr own = nullptr;         // a long one of this rank to itself
};

class Matching {
 public:
  // The receive that takes this message, which is then no longer posted; null: none yet.
  TransferPtr take_posted(int rank, const Envelope& envelope);
  void post(TransferPtr receive) { posted_.push_back(std::move(receive)); }

  // The message that this receive takes.
  std::optional<Arrived> take_arrived(const Transfer& receive);
  // Throws Error(kMismatch) once this rank holds more bytes of messages than kMostBytes.
  void keep(Arrived message);

  // A posted receive takes no message any more.
  void withdraw(const TransferPtr& receive) { posted_.remove(receive); }
  void clear();

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  std::list<TransferPtr> posted_;  // receives
  std::list<Arrived> arrived_;
  std::size_t bytes_ = 0;  // of arrived_
};

}  // namespace railgauge
