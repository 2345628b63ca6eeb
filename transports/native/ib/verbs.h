// SPDX-License-Identifier: Apache-2.0
// libibverbs, opened at run time: one build runs with and without RDMA. Functions are found by name
// and version, as a program linked against rdma-core 28 (2020) or newer would find them.
#pragma once

#include <string>

#include "transports/native/error.h"
#include "transports/native/ib/abi.h"

namespace railgauge::ib {

// Each is a member of Verbs: X(result, name there behind ibv_, version, parameters).
#define RAILGAUGE_VERBS_FUNCTIONS(X)                                                              \
  X(abi::Device**, get_device_list, IBVERBS_1.1, (int*))                                          \
  X(void, free_device_list, IBVERBS_1.1, (abi::Device**))                                         \
  X(const char*, get_device_name, IBVERBS_1.1, (abi::Device*))                                    \
  X(std::uint64_t, get_device_guid, IBVERBS_1.1, (abi::Device*))                                  \
  X(abi::Context*, open_device, IBVERBS_1.1, (abi::Device*))                                      \
  X(int, close_device, IBVERBS_1.1, (abi::Context*))                                              \
  X(int, query_device, IBVERBS_1.1, (abi::Context*, abi::DeviceAttr*))                            \
  X(int, query_port, IBVERBS_1.1, (abi::Context*, std::uint8_t, abi::PortAttr*))                  \
  X(int, query_gid, IBVERBS_1.1, (abi::Context*, std::uint8_t, int, abi::Gid*))                   \
  X(int, query_pkey, IBVERBS_1.1, (abi::Context*, std::uint8_t, int, std::uint16_t*))             \
  X(int, get_async_event, IBVERBS_1.1, (abi::Context*, abi::AsyncEvent*))                         \
  X(void, ack_async_event, IBVERBS_1.1, (abi::AsyncEvent*))                                       \
  X(const char*, event_type_str, IBVERBS_1.1, (int))                                              \
  X(const char*, wc_status_str, IBVERBS_1.1, (int))                                               \
  X(abi::Pd*, alloc_pd, IBVERBS_1.1, (abi::Context*))                                             \
  X(int, dealloc_pd, IBVERBS_1.1, (abi::Pd*))                                                     \
  X(abi::Mr*, reg_mr_iova2, IBVERBS_1.8,                                                          \
    (abi::Pd*, void*, std::size_t, std::uint64_t, unsigned access))                               \
  X(int, dereg_mr, IBVERBS_1.1, (abi::Mr*))                                                       \
  X(abi::CompChannel*, create_comp_channel, IBVERBS_1.0, (abi::Context*))                         \
  X(int, destroy_comp_channel, IBVERBS_1.0, (abi::CompChannel*))                                  \
  X(abi::Cq*, create_cq, IBVERBS_1.1, (abi::Context*, int, void*, abi::CompChannel*, int vector)) \
  X(int, destroy_cq, IBVERBS_1.1, (abi::Cq*))                                                     \
  X(int, get_cq_event, IBVERBS_1.1, (abi::CompChannel*, abi::Cq**, void**))                       \
  X(void, ack_cq_events, IBVERBS_1.1, (abi::Cq*, unsigned))                                       \
  X(abi::Qp*, create_qp, IBVERBS_1.1, (abi::Pd*, abi::QpInitAttr*))                               \
  X(int, modify_qp, IBVERBS_1.1, (abi::Qp*, abi::QpAttr*, int mask))                              \
  X(int, query_qp, IBVERBS_1.1, (abi::Qp*, abi::QpAttr*, int mask, abi::QpInitAttr*))             \
  X(int, destroy_qp, IBVERBS_1.1, (abi::Qp*))

class Verbs {
 public:
  // Throws Error(kSystem) if the library is missing or too old.
  static const Verbs& get();

#define RAILGAUGE_VERBS_MEMBER(result, name, version, parameters) result(*name) parameters;
  RAILGAUGE_VERBS_FUNCTIONS(RAILGAUGE_VERBS_MEMBER)
#undef RAILGAUGE_VERBS_MEMBER
  // ibv_reg_dmabuf_mr; null before rdma-core 34
  abi::Mr* (*reg_dmabuf_mr)(abi::Pd*, std::uint64_t offset, std::size_t, std::uint64_t, int fd,
                            int access) = nullptr;

 private:
  Verbs();
};

// A failed verb: `error` is what it returned, negative from some providers, or left in errno;
// "what, device:port: text".
Error verbs_error(const std::string& what, int error);

}  // namespace railgauge::ib
