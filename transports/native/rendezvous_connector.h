// SPDX-License-Identifier: Apache-2.0
// Makes a rank's connections with what its rendezvous carries alone: over shared memory within a
// host, over a TCP socket between hosts.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/connector.h"
#include "transports/native/doorbell.h"
#include "transports/native/rendezvous.h"
#include "transports/native/socket/proxy.h"

namespace railgauge {

class RendezvousConnector final : public Connector {
 public:
  // `address` is this host's, for others; empty if there are none. The rendezvous has to last as
  // long as connections are made.
  RendezvousConnector(Rendezvous& rendezvous, int rank, int ranks, std::string address,
                      std::chrono::nanoseconds timeout);
  // Sends what was posted.
  ~RendezvousConnector() override;

  const std::shared_ptr<Doorbell>& doorbell() const { return doorbell_; }
  // The bytes of all ranks. Throws Error(kMismatch) if they are of another number of ranks.
  std::vector<std::string> all_gather(const std::string& own);
  std::vector<std::shared_ptr<Connection>> connect(const std::vector<Wire>& wires) override;
  std::shared_ptr<shm::SharedSegment> shared_segment(const std::vector<int>& ranks) override;
  // From any thread: closes sockets, and ends this rank's waits.
  void abort();

 private:
  std::shared_ptr<Doorbell> doorbell_of(int rank);

  Rendezvous& rendezvous_;
  int rank_, ranks_;
  std::string address_;
  std::chrono::nanoseconds timeout_;
  std::shared_ptr<Doorbell> doorbell_ = Doorbell::create();
  std::vector<std::string> descriptors_;              // of all ranks' doorbells
  std::vector<std::shared_ptr<Doorbell>> doorbells_;  // by rank; null: not opened
  std::shared_ptr<socket::Proxy> proxy_;              // null without an address
};

}  // namespace railgauge
