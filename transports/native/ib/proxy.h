// SPDX-License-Identifier: Apache-2.0
// Drives a rank's connections over RDMA: the devices move data, and the rank's own thread processes
// completions while it waits (Attendant). While the rank sleeps, a thread of the proxy sleeps on
// the completion channels and rings the rank's doorbell; it also receives the devices' failure
// events.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "transports/native/doorbell.h"
#include "transports/native/fd.h"
#include "transports/native/ib/events.h"
#include "transports/native/ib/link.h"
#include "transports/native/ib/registrations.h"

namespace railgauge::ib {

class Proxy final : public Attendant {
 public:
  // `doorbell` is the rank's own; `linger` is how long closing may take to send what was posted.
  Proxy(std::shared_ptr<Doorbell> doorbell, std::chrono::nanoseconds linger);
  ~Proxy();
  // Those of some rails, which are watched from then on. Between operations.
  CompletionChannels channels(const Rails& rails);
  const DeviceFailure& failure() const { return failure_; }
  // Between operations.
  void add(std::shared_ptr<Link> link);
  // Memory of the caller's that devices send from without a copy, and into which peers may put
  // messages if `access` has kRemoteWrite; until it is deregistered as many times. Between
  // operations.
  void register_memory(const std::byte* data, std::size_t bytes, unsigned access,
                       std::shared_ptr<const DmaBuf> exported = nullptr);
  void deregister_memory(const std::byte* data, std::size_t bytes);
  const Registrations& registrations() const { return registrations_; }
  // The region of that memory for such access; throws Error(kInvalid) if there is none.
  const Region& registered(const std::byte* data, std::size_t bytes, unsigned access = 0) const;
  // Sends what was posted, unless aborted, and ends all queue pairs; after the last operation. A
  // device that refuses at the end does not affect the others. May be called twice.
  void close();
  // From any thread: ends all waits.
  void abort() { aborted_ = true; }

  bool attend() override;
  void arm() override;
  int unsettled() const override;
  void give_up() override { gave_up_ = true; }
  bool gave_up() const { return gave_up_; }

 private:
  void ring_for_sleeper();
  void lose(const CompletionChannel& channel);
  void flush();
  void probe();

  std::shared_ptr<Doorbell> doorbell_;
  std::chrono::nanoseconds linger_;
  std::mutex watched_;  // channels_, between the rank and the ringer
  CompletionChannels channels_;
  DeviceFailure failure_;
  Registrations registrations_;
  std::vector<std::shared_ptr<Link>> links_;
  Fd end_, bell_;  // an eventfd, and an epoll set of it, channels and devices
  std::uint32_t looks_ = 0;
  bool gave_up_ = false;
  bool closed_ = false;
  std::atomic<bool> aborted_{false};
  std::thread ringer_;
};

}  // namespace railgauge::ib
