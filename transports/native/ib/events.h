// SPDX-License-Identifier: Apache-2.0
// Failures that this rank's own devices report (ibv_get_async_event(3)): the first failure ends all
// connections.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "transports/native/ib/rail.h"

namespace railgauge::ib {

class DeviceFailure {
 public:
  bool happened() const { return happened_.load(std::memory_order_acquire); }
  // Only the first one is reported.
  void tell(const std::string& what);
  // Throws Error(kSystem) with it.
  [[noreturn]] void raise() const;

 private:
  mutable std::mutex mutex_;
  std::string what_;  // guarded by mutex_
  std::atomic<bool> happened_{false};
};

// Makes a rail's event descriptor non-blocking.
void prepare_events(const Rail& rail);
// Takes the pending events; those that end connections are reported. False: the device gives no
// more events.
bool take_events(const Rail& rail, DeviceFailure& failure);

}  // namespace railgauge::ib
