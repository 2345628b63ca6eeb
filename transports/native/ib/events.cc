// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/events.h"

#include <fcntl.h>

#include <cerrno>

namespace railgauge::ib {

namespace {

// What to try, for an event that ends connections; nullptr for one that does not.
const char* remedy(const abi::AsyncEvent& event, int port) {
  switch (event.event_type) {
    case abi::kEventPortErr:
      if (event.element.port_num != port) return nullptr;
      return "the link went down: check cable, transceiver and switch port (ibstat, dmesg)";
    case abi::kEventDeviceFatal:
      return "the device failed: check dmesg, reset it (mlxfwreset) or take it out of "
             "NCCL_IB_HCA";
    case abi::kEventCqErr:
    case abi::kEventQpFatal:
    case abi::kEventQpReqErr:
    case abi::kEventQpAccessErr:
      return "the peer or the network violated the protocol: do both ends run the same version?";
    default:
      return nullptr;
  }
}

}  // namespace

void DeviceFailure::tell(const std::string& what) {
  std::lock_guard lock(mutex_);
  if (what_.empty()) what_ = what;
  happened_.store(true, std::memory_order_release);
}

void DeviceFailure::raise() const {
  std::lock_guard lock(mutex_);
  throw Error(ErrorCode::kSystem, what_);
}

void prepare_events(const Rail& rail) {
  const int fd = rail.context()->async_fd, flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    throw system_error(rail.name() + ": preparing its events");
  }
}

bool take_events(const Rail& rail, DeviceFailure& failure) {
  abi::AsyncEvent event{};
  while (errno = 0, Verbs::get().get_async_event(rail.context(), &event) == 0) {
    if (const char* what_to_do = remedy(event, rail.port())) {
      failure.tell(rail.name() + " of this rank: " + Verbs::get().event_type_str(event.event_type) +
                   ": " + what_to_do);
    }
    Verbs::get().ack_async_event(&event);
  }
  return errno == EAGAIN;
}

}  // namespace railgauge::ib
