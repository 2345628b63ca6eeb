// SPDX-License-Identifier: Apache-2.0
// Point to point: sends and receives of one rank in a communicator, by any threads, in any order.
// Their connections are not those of collectives, so that neither waits for the other.
//
// Who waits for a transfer moves messages himself; while nobody does, a thread of this object does,
// so that peers never wait for a rank that is busy elsewhere.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "collectives/native/message_flow.h"
#include "transports/native/error.h"
#include "transports/native/waiting.h"

namespace railgauge {

class Messages {
 public:
  // `pairs` are by rank, empty for this one. They and the doorbell are used by this object alone.
  Messages(int rank, std::vector<Pair> pairs, std::shared_ptr<Doorbell> doorbell,
           Waiting::Policy policy);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  int ranks() const { return flow_.ranks(); }

  // Starts a transfer, whose memory is in use until it is done. Throws what ended all transfers.
  void start(const TransferPtr& transfer);
  // Waits until it is done; returns false if it is not after `limit`. Throws the transfer's error,
  // or without a limit Error(kTimeout) when nothing of it has moved for the policy's timeout.
  bool wait(const TransferPtr& transfer, std::optional<std::chrono::nanoseconds> limit = {});
  // Waits until all sends are done.
  void finish_sends();
  // Ends all transfers.
  void fail(const Error& error);

  // Whether a transfer was started and is not done.
  bool is_amid() const;
  // For other threads: the transfer that a caller waits for now, or waited for when that ended with
  // Error(kTimeout) or Error(kAborted); null: none.
  TransferPtr waited_for() const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool wait(Lock& lock, const Transfer& transfer, std::optional<std::chrono::nanoseconds> limit);
  void help();
  bool progress();
  void sleep(Lock& lock, std::chrono::nanoseconds limit);

  std::shared_ptr<Doorbell> doorbell_;
  Waiting::Policy policy_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable moved_, helps_;
  MessageFlow flow_;
  std::vector<TransferPtr> waited_for_;
  std::exception_ptr failure_;  // what ended all transfers
  bool on_doorbell_ = false;    // a thread sleeps there
  bool ending_ = false;
  Clock::time_point in_use_{};  // callers move messages until then
  std::thread helper_;
};

}  // namespace railgauge
