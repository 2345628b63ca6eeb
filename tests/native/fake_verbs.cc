// SPDX-License-Identifier: Apache-2.0
#include "tests/native/fake_verbs.h"

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace railgauge::ib {
namespace {

FakeDevice device;
int listed;  // what stands for the device in a list
abi::Device* list[] = {reinterpret_cast<abi::Device*>(&listed), nullptr};

struct FakePair : abi::Qp {
  int port;
};

int poll(abi::Cq* queue, int most, abi::Wc* into) {
  auto& completions = static_cast<FakeQueue*>(queue)->completions;
  int count = 0;
  for (; count < most && !completions.empty(); ++count) {
    into[count] = completions.front();
    completions.pop_front();
  }
  return count;
}

int notify(abi::Cq*, int) { return 0; }

int send(abi::Qp* pair, abi::SendWr* wr, abi::SendWr**) {
  if (device.send_error != 0) return device.send_error;
  ++device.sends;
  const bool silent = static_cast<FakePair*>(pair)->port == device.silent_port;
  if (silent || (wr->send_flags & abi::kSendSignaled) == 0) return 0;
  abi::Wc done{};
  done.wr_id = wr->wr_id;
  static_cast<FakeQueue*>(pair->send_cq)->completions.push_back(done);
  return 0;
}

int receive(abi::Qp*, abi::RecvWr*, abi::RecvWr**) { return 0; }

abi::Mr* registered(abi::Pd* pd, void* data, std::size_t bytes) {
  static std::uint32_t key = 0;
  ++key;
  return new abi::Mr{pd->context, pd, data, bytes, 0, key, key};
}

}  // namespace

void FakeDevice::reset() {
  port = {};
  port.state = abi::kPortActive;
  port.active_mtu = 5;
  port.link_layer = abi::kInfiniBand;
  port.lid = 7;
  gid = {};
  gid.raw[0] = 0xfe;
  gid.raw[1] = 0x80;
  pkeys = {0xffff};
  modify_error = modify_errors = send_error = silent_port = modifications = sends = 0;
  async_fd = -1;
  event_error = EAGAIN;
  dma_buf_offset = 0;
}

extern "C" {

FakeDevice& fake_device() { return device; }

int ibv_fork_init() { return ++device.fork_inits, 0; }

abi::Device** ibv_get_device_list(int* count) { return *count = 1, list; }
void ibv_free_device_list(abi::Device**) {}
const char* ibv_get_device_name(abi::Device*) { return "fake0"; }
std::uint64_t ibv_get_device_guid(abi::Device*) { return 1; }

abi::Context* ibv_open_device(abi::Device* which) {
  auto* context = new abi::Context{};
  context->device = which;
  context->ops.poll_cq = poll;
  context->ops.req_notify_cq = notify;
  context->ops.post_send = send;
  context->ops.post_recv = receive;
  context->async_fd = dup(device.async_fd);
  return context;
}
int ibv_close_device(abi::Context* context) {
  close(context->async_fd);
  return delete context, 0;
}

int ibv_query_device(abi::Context*, abi::DeviceAttr* into) {
  *into = {};
  into->phys_port_cnt = 2;
  return 0;
}
int ibv_query_port(abi::Context*, std::uint8_t number, abi::PortAttr* into) {
  if (number < 1 || number > 2) return EINVAL;
  *into = device.port;
  into->pkey_tbl_len = static_cast<std::uint16_t>(device.pkeys.size());
  return 0;
}
int ibv_query_gid(abi::Context*, std::uint8_t, int, abi::Gid* into) {
  return *into = device.gid, 0;
}
int ibv_query_pkey(abi::Context*, std::uint8_t, int index, std::uint16_t* into) {
  return *into = htons(device.pkeys.at(static_cast<std::size_t>(index))), 0;
}

int ibv_get_async_event(abi::Context*, abi::AsyncEvent*) {
  errno = device.event_error;
  return -1;
}
void ibv_ack_async_event(abi::AsyncEvent*) {}
const char* ibv_event_type_str(int) { return "event"; }
const char* ibv_wc_status_str(int) { return "status"; }

abi::Pd* ibv_alloc_pd(abi::Context* context) { return new abi::Pd{context, 0}; }
int ibv_dealloc_pd(abi::Pd* pd) { return delete pd, 0; }

abi::Mr* ibv_reg_mr_iova2(abi::Pd* pd, void* data, std::size_t bytes, std::uint64_t, unsigned) {
  return registered(pd, data, bytes);
}
abi::Mr* ibv_reg_dmabuf_mr(abi::Pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t at,
                           int, int) {
  device.dma_buf_offset = offset;
  return registered(pd, reinterpret_cast<void*>(at), bytes);
}
int ibv_dereg_mr(abi::Mr* registration) { return delete registration, 0; }

abi::CompChannel* ibv_create_comp_channel(abi::Context* context) {
  return new abi::CompChannel{context, eventfd(0, EFD_CLOEXEC), 0};
}
int ibv_destroy_comp_channel(abi::CompChannel* channel) {
  close(channel->fd);
  return delete channel, 0;
}
int ibv_get_cq_event(abi::CompChannel*, abi::Cq**, void**) { return errno = EAGAIN, -1; }
void ibv_ack_cq_events(abi::Cq*, unsigned) {}

abi::Cq* ibv_create_cq(abi::Context* context, int, void* owner, abi::CompChannel* channel, int) {
  auto* queue = new FakeQueue{};
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = owner;
  device.queues.push_back(queue);
  return queue;
}
int ibv_destroy_cq(abi::Cq* queue) {
  std::erase(device.queues, static_cast<FakeQueue*>(queue));
  return delete static_cast<FakeQueue*>(queue), 0;
}

abi::Qp* ibv_create_qp(abi::Pd* pd, abi::QpInitAttr* attributes) {
  static std::uint32_t number = 0;
  auto* pair = new FakePair{};
  pair->context = pd->context;
  pair->pd = pd;
  pair->send_cq = attributes->send_cq;
  pair->recv_cq = attributes->recv_cq;
  pair->qp_num = ++number;
  return pair;
}
int ibv_modify_qp(abi::Qp* pair, abi::QpAttr* attributes, int mask) {
  ++device.modifications;
  if (device.modify_errors > 0) return --device.modify_errors, device.modify_error;
  if ((mask & abi::kQpPort) != 0) static_cast<FakePair*>(pair)->port = attributes->port_num;
  if (attributes->qp_state == abi::kQpsInit) device.to_init = *attributes;
  if (attributes->qp_state == abi::kQpsRtr) device.to_rtr = *attributes;
  if (attributes->qp_state == abi::kQpsRts) device.to_rts = *attributes;
  return 0;
}
int ibv_query_qp(abi::Qp*, abi::QpAttr*, int, abi::QpInitAttr*) { return ENOSYS; }
int ibv_destroy_qp(abi::Qp* pair) { return delete static_cast<FakePair*>(pair), 0; }

}  // extern "C"

}  // namespace railgauge::ib
