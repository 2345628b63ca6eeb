// SPDX-License-Identifier: Apache-2.0
// The structures and numbers of libibverbs that this transport uses, laid out as its version 1 ABI
// has them, so that nothing of it is needed to build. Names are those of infiniband/verbs.h without
// the prefix; tests/native/verbs_abi_test.cc holds each against that header where it is installed.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace railgauge::ib::abi {

struct Device;  // asked by functions only
struct CompChannel;
struct Context;
struct Pd;
struct Cq;
struct Qp;

union Gid {
  std::uint8_t raw[16];
  struct {
    std::uint64_t subnet_prefix, interface_id;  // in network order
  } global;
};

// enum ibv_port_state, and the link layers.
inline constexpr int kPortActive = 4;
inline constexpr int kPortActiveDefer = 5;
inline constexpr std::uint8_t kInfiniBand = 1;
inline constexpr std::uint8_t kEthernet = 2;
inline constexpr std::uint8_t kGrhRequired = 1;  // in PortAttr::flags

struct PortAttr {
  int state, max_mtu, active_mtu, gid_tbl_len;
  std::uint32_t port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
  std::uint16_t pkey_tbl_len, lid, sm_lid;
  std::uint8_t lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width, active_speed,
      phys_state, link_layer, flags;
  std::uint16_t port_cap_flags2;
};

struct DeviceAttr {
  char fw_ver[64];
  std::uint64_t node_guid, sys_image_guid;  // in network order
  std::uint64_t max_mr_size, page_size_cap;
  std::uint32_t vendor_id, vendor_part_id, hw_ver;
  int max_qp, max_qp_wr;
  unsigned device_cap_flags;
  int max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd, max_qp_rd_atom, max_ee_rd_atom,
      max_res_rd_atom, max_qp_init_rd_atom, max_ee_init_rd_atom, atomic_cap, max_ee, max_rdd,
      max_mw, max_raw_ipv6_qp, max_raw_ethy_qp, max_mcast_grp, max_mcast_qp_attach,
      max_total_mcast_qp_attach, max_ah, max_fmr, max_map_per_fmr, max_srq, max_srq_wr, max_srq_sge;
  std::uint16_t max_pkeys;
  std::uint8_t local_ca_ack_delay, phys_port_cnt;
};

// enum ibv_event_type.
inline constexpr int kEventCqErr = 0;
inline constexpr int kEventQpFatal = 1;
inline constexpr int kEventQpReqErr = 2;
inline constexpr int kEventQpAccessErr = 3;
inline constexpr int kEventDeviceFatal = 8;
inline constexpr int kEventPortErr = 10;

struct AsyncEvent {
  union {
    Cq* cq;
    Qp* qp;
    void* srq;
    int port_num;
  } element;
  int event_type;
};

// enum ibv_wc_status and ibv_wc_opcode.
inline constexpr int kWcSuccess = 0;
inline constexpr int kWcFlushed = 5;
inline constexpr int kWcRetryExceeded = 12;
inline constexpr int kWcRecvRdmaWithImm = (1 << 7) + 1;

struct Wc {
  std::uint64_t wr_id;
  int status, opcode;
  std::uint32_t vendor_err, byte_len, imm_data, qp_num, src_qp;
  unsigned wc_flags;
  std::uint16_t pkey_index, slid;
  std::uint8_t sl, dlid_path_bits;
};

// enum ibv_access_flags.
inline constexpr unsigned kLocalWrite = 1;
inline constexpr unsigned kRemoteWrite = 1 << 1;
inline constexpr unsigned kRemoteRead = 1 << 2;
inline constexpr unsigned kRelaxedOrdering = 1 << 20;

struct Mr {
  Context* context;
  Pd* pd;
  void* addr;
  std::size_t length;
  std::uint32_t handle, lkey, rkey;
};

struct GlobalRoute {
  Gid dgid;
  std::uint32_t flow_label;
  std::uint8_t sgid_index, hop_limit, traffic_class;
};

struct AhAttr {
  GlobalRoute grh;
  std::uint16_t dlid;
  std::uint8_t sl, src_path_bits, static_rate, is_global, port_num;
};

struct QpCap {
  std::uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

inline constexpr int kQptRc = 2;  // enum ibv_qp_type

struct QpInitAttr {
  void* qp_context;
  Cq *send_cq, *recv_cq;
  void* srq;
  QpCap cap;
  int qp_type, sq_sig_all;
};

// enum ibv_qp_state.
inline constexpr int kQpsInit = 1;
inline constexpr int kQpsRtr = 2;
inline constexpr int kQpsRts = 3;

// enum ibv_qp_attr_mask.
inline constexpr int kQpState = 1 << 0;
inline constexpr int kQpAccessFlags = 1 << 3;
inline constexpr int kQpPkeyIndex = 1 << 4;
inline constexpr int kQpPort = 1 << 5;
inline constexpr int kQpAv = 1 << 7;
inline constexpr int kQpPathMtu = 1 << 8;
inline constexpr int kQpTimeout = 1 << 9;
inline constexpr int kQpRetryCnt = 1 << 10;
inline constexpr int kQpRnrRetry = 1 << 11;
inline constexpr int kQpRqPsn = 1 << 12;
inline constexpr int kQpMaxQpRdAtomic = 1 << 13;
inline constexpr int kQpMinRnrTimer = 1 << 15;
inline constexpr int kQpSqPsn = 1 << 16;
inline constexpr int kQpMaxDestRdAtomic = 1 << 17;
inline constexpr int kQpDestQpn = 1 << 20;

struct QpAttr {
  int qp_state, cur_qp_state, path_mtu, path_mig_state;
  std::uint32_t qkey, rq_psn, sq_psn, dest_qp_num;
  unsigned qp_access_flags;
  QpCap cap;
  AhAttr ah_attr, alt_ah_attr;
  std::uint16_t pkey_index, alt_pkey_index;
  std::uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer,
      port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout;
  std::uint32_t rate_limit;
};

struct Sge {
  std::uint64_t addr;
  std::uint32_t length, lkey;
};

// enum ibv_wr_opcode and ibv_send_flags.
inline constexpr int kWrRdmaWrite = 0;
inline constexpr int kWrRdmaWriteWithImm = 1;
inline constexpr int kWrSendWithImm = 3;
inline constexpr int kWrRdmaRead = 4;
inline constexpr unsigned kSendSignaled = 1 << 1;
inline constexpr unsigned kSendInline = 1 << 3;

struct SendWr {
  std::uint64_t wr_id;
  SendWr* next;
  Sge* sg_list;
  int num_sge, opcode;
  unsigned send_flags;
  std::uint32_t imm_data;
  union {
    struct {
      std::uint64_t remote_addr;
      std::uint32_t rkey;
    } rdma;
    std::uint64_t largest[4];  // of atomic operations
  } wr;
  std::uint32_t xrc;
  std::uint64_t bind_or_tso[6];
};

struct RecvWr {
  std::uint64_t wr_id;
  RecvWr* next;
  Sge* sg_list;
  int num_sge;
};

struct Pd {
  Context* context;
  std::uint32_t handle;
};

struct CompChannel {
  Context* context;
  int fd, refcnt;
};

struct Cq {
  Context* context;
  CompChannel* channel;
  void* cq_context;
  std::uint32_t handle;
  int cqe;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  std::uint32_t comp_events_completed, async_events_completed;
};

struct Qp {
  Context* context;
  void* qp_context;
  Pd* pd;
  Cq *send_cq, *recv_cq;
  void* srq;
  std::uint32_t handle, qp_num;
  int state, qp_type;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  std::uint32_t events_completed;
};

// struct ibv_context_ops: what the header's inline functions call.
struct ContextOps {
  void* before_poll[11];
  int (*poll_cq)(Cq*, int, Wc*);
  int (*req_notify_cq)(Cq*, int solicited_only);
  void* between[7];
  void* post_srq_recv;
  void* before_send[4];
  int (*post_send)(Qp*, SendWr*, SendWr** bad);
  int (*post_recv)(Qp*, RecvWr*, RecvWr** bad);
  void* after[5];
};

struct Context {
  Device* device;
  ContextOps ops;
  int cmd_fd, async_fd, num_comp_vectors;
  pthread_mutex_t mutex;
  void* abi_compat;
};

}  // namespace railgauge::ib::abi
