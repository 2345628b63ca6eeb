// SPDX-License-Identifier: Apache-2.0
// What this rank's own devices say went wrong with them (ibv_get_async_event(3)): the first failure
// ends all connections.
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
  // The first one is the one that is told.
  void tell(const std::string& what);
  // Throws Error(kSystem) with it.
  [[noreturn]] void raise() const;

 private:
  mutable std::mutex mutex_;
  std::string what_;  // guarded by mutex_
  std::atomic<bool> happened_{false};
};

// Makes a rail's event descriptor one that does not block.
void prepare_events(const Rail& rail);
// Takes the events that came; those that end connections are told. False: the device gives none any
// more.
bool take_events(const Rail& rail, DeviceFailure& failure);

}  // namespace railgauge::ib
