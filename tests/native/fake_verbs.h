// SPDX-License-Identifier: Apache-2.0
// A libibverbs.so.1 with one fake device, fake0, of two ports, which ib_test loads in place of
// the system's. What is sent is done at once; what seldom befalls a device befalls it when told to.
#pragma once

#include <atomic>
#include <cerrno>
#include <deque>
#include <vector>

#include "transports/native/ib/abi.h"

namespace railgauge::ib {

struct FakeQueue : abi::Cq {
  std::deque<abi::Wc> completions;
};

struct FakeDevice {
  abi::PortAttr port;  // both
  abi::Gid gid;
  std::vector<std::uint16_t> pkeys;  // in host order
  int modify_error;                  // what ibv_modify_qp gives, the next modify_errors times
  int modify_errors;
  int send_error;   // what posting a send gives
  int silent_port;  // nothing that is sent by it is ever done
  int async_fd;
  std::atomic<int> event_error;  // what ibv_get_async_event leaves in errno
  // What was done with it.
  int fork_inits;  // not of a reset
  int modifications;
  int sends;
  abi::QpAttr to_init, to_rtr, to_rts;  // the last queue pair's
  std::vector<FakeQueue*> queues;
  std::uint64_t dma_buf_offset;

  // An active port of InfiniBand that nothing befalls.
  void reset();
};

extern "C" FakeDevice& fake_device();

}  // namespace railgauge::ib
