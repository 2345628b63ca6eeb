// SPDX-License-Identifier: Apache-2.0
// Our own layouts of libibverbs' structures (transports/native/ib/abi.h) against the header of the
// rdma-core that is installed: sizes, places of members and numbers. It is built where the header
// is.
#include <infiniband/verbs.h>

#include <cstdio>

#include "transports/native/ib/abi.h"

namespace {

namespace abi = railgauge::ib::abi;

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs))
#define SAME_PLACE(ours, member, theirs, their_member)                     \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member)); \
  static_assert(sizeof(ours::member) == sizeof(theirs::their_member))
#define SAME(ours, theirs, member) SAME_PLACE(ours, member, theirs, member)
#define NUMBER(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs))

SAME_SIZE(abi::Gid, ibv_gid);

// rdma-core has appended active_speed_ex since: the exported ibv_query_port fills what is before
// it.
static_assert(sizeof(abi::PortAttr) <= sizeof(ibv_port_attr));
SAME(abi::PortAttr, ibv_port_attr, state);
SAME(abi::PortAttr, ibv_port_attr, active_mtu);
SAME(abi::PortAttr, ibv_port_attr, gid_tbl_len);
SAME(abi::PortAttr, ibv_port_attr, pkey_tbl_len);
SAME(abi::PortAttr, ibv_port_attr, lid);
SAME(abi::PortAttr, ibv_port_attr, lmc);
SAME(abi::PortAttr, ibv_port_attr, active_width);
SAME(abi::PortAttr, ibv_port_attr, active_speed);
SAME(abi::PortAttr, ibv_port_attr, link_layer);
SAME(abi::PortAttr, ibv_port_attr, flags);

SAME_SIZE(abi::DeviceAttr, ibv_device_attr);
SAME(abi::DeviceAttr, ibv_device_attr, node_guid);
SAME(abi::DeviceAttr, ibv_device_attr, max_qp_wr);
SAME(abi::DeviceAttr, ibv_device_attr, max_cqe);
SAME(abi::DeviceAttr, ibv_device_attr, phys_port_cnt);

SAME_SIZE(abi::AsyncEvent, ibv_async_event);
SAME(abi::AsyncEvent, ibv_async_event, event_type);

SAME_SIZE(abi::Wc, ibv_wc);
SAME(abi::Wc, ibv_wc, wr_id);
SAME(abi::Wc, ibv_wc, status);
SAME(abi::Wc, ibv_wc, opcode);
SAME(abi::Wc, ibv_wc, vendor_err);
SAME(abi::Wc, ibv_wc, imm_data);
SAME(abi::Wc, ibv_wc, wc_flags);

SAME_SIZE(abi::Mr, ibv_mr);
SAME(abi::Mr, ibv_mr, lkey);
SAME(abi::Mr, ibv_mr, rkey);

SAME_SIZE(abi::AhAttr, ibv_ah_attr);
SAME(abi::AhAttr, ibv_ah_attr, grh.sgid_index);
SAME(abi::AhAttr, ibv_ah_attr, grh.hop_limit);
SAME(abi::AhAttr, ibv_ah_attr, grh.traffic_class);
SAME(abi::AhAttr, ibv_ah_attr, dlid);
SAME(abi::AhAttr, ibv_ah_attr, sl);
SAME(abi::AhAttr, ibv_ah_attr, src_path_bits);
SAME(abi::AhAttr, ibv_ah_attr, is_global);
SAME(abi::AhAttr, ibv_ah_attr, port_num);

SAME_SIZE(abi::QpInitAttr, ibv_qp_init_attr);
SAME(abi::QpInitAttr, ibv_qp_init_attr, send_cq);
SAME(abi::QpInitAttr, ibv_qp_init_attr, recv_cq);
SAME(abi::QpInitAttr, ibv_qp_init_attr, cap.max_inline_data);
SAME(abi::QpInitAttr, ibv_qp_init_attr, qp_type);
SAME(abi::QpInitAttr, ibv_qp_init_attr, sq_sig_all);

SAME_SIZE(abi::QpAttr, ibv_qp_attr);
SAME(abi::QpAttr, ibv_qp_attr, path_mtu);
SAME(abi::QpAttr, ibv_qp_attr, rq_psn);
SAME(abi::QpAttr, ibv_qp_attr, sq_psn);
SAME(abi::QpAttr, ibv_qp_attr, dest_qp_num);
SAME(abi::QpAttr, ibv_qp_attr, qp_access_flags);
SAME(abi::QpAttr, ibv_qp_attr, ah_attr);
SAME(abi::QpAttr, ibv_qp_attr, pkey_index);
SAME(abi::QpAttr, ibv_qp_attr, max_rd_atomic);
SAME(abi::QpAttr, ibv_qp_attr, max_dest_rd_atomic);
SAME(abi::QpAttr, ibv_qp_attr, min_rnr_timer);
SAME(abi::QpAttr, ibv_qp_attr, port_num);
SAME(abi::QpAttr, ibv_qp_attr, timeout);
SAME(abi::QpAttr, ibv_qp_attr, retry_cnt);
SAME(abi::QpAttr, ibv_qp_attr, rnr_retry);

SAME_SIZE(abi::Sge, ibv_sge);
SAME(abi::Sge, ibv_sge, lkey);

SAME_SIZE(abi::SendWr, ibv_send_wr);
SAME(abi::SendWr, ibv_send_wr, sg_list);
SAME(abi::SendWr, ibv_send_wr, num_sge);
SAME(abi::SendWr, ibv_send_wr, opcode);
SAME(abi::SendWr, ibv_send_wr, send_flags);
SAME(abi::SendWr, ibv_send_wr, imm_data);
SAME(abi::SendWr, ibv_send_wr, wr.rdma.remote_addr);
SAME(abi::SendWr, ibv_send_wr, wr.rdma.rkey);
SAME_PLACE(abi::SendWr, xrc, ibv_send_wr, qp_type.xrc.remote_srqn);

SAME_SIZE(abi::RecvWr, ibv_recv_wr);
SAME(abi::RecvWr, ibv_recv_wr, num_sge);

SAME_SIZE(abi::CompChannel, ibv_comp_channel);
SAME(abi::CompChannel, ibv_comp_channel, fd);
SAME_SIZE(abi::Cq, ibv_cq);
SAME(abi::Cq, ibv_cq, context);
SAME_SIZE(abi::Qp, ibv_qp);
SAME(abi::Qp, ibv_qp, context);
SAME(abi::Qp, ibv_qp, qp_num);

SAME_SIZE(abi::ContextOps, ibv_context_ops);
SAME(abi::ContextOps, ibv_context_ops, poll_cq);
SAME(abi::ContextOps, ibv_context_ops, req_notify_cq);
SAME(abi::ContextOps, ibv_context_ops, post_srq_recv);
SAME(abi::ContextOps, ibv_context_ops, post_send);
SAME(abi::ContextOps, ibv_context_ops, post_recv);
SAME_SIZE(abi::Context, ibv_context);
SAME(abi::Context, ibv_context, ops);
SAME(abi::Context, ibv_context, async_fd);

NUMBER(abi::kPortActive, IBV_PORT_ACTIVE);
NUMBER(abi::kPortActiveDefer, IBV_PORT_ACTIVE_DEFER);
NUMBER(abi::kInfiniBand, IBV_LINK_LAYER_INFINIBAND);
NUMBER(abi::kEthernet, IBV_LINK_LAYER_ETHERNET);
NUMBER(abi::kGrhRequired, IBV_QPF_GRH_REQUIRED);
NUMBER(abi::kEventCqErr, IBV_EVENT_CQ_ERR);
NUMBER(abi::kEventQpFatal, IBV_EVENT_QP_FATAL);
NUMBER(abi::kEventQpReqErr, IBV_EVENT_QP_REQ_ERR);
NUMBER(abi::kEventQpAccessErr, IBV_EVENT_QP_ACCESS_ERR);
NUMBER(abi::kEventDeviceFatal, IBV_EVENT_DEVICE_FATAL);
NUMBER(abi::kEventPortErr, IBV_EVENT_PORT_ERR);
NUMBER(abi::kWcSuccess, IBV_WC_SUCCESS);
NUMBER(abi::kWcFlushed, IBV_WC_WR_FLUSH_ERR);
NUMBER(abi::kWcRetryExceeded, IBV_WC_RETRY_EXC_ERR);
NUMBER(abi::kWcRecvRdmaWithImm, IBV_WC_RECV_RDMA_WITH_IMM);
NUMBER(abi::kLocalWrite, IBV_ACCESS_LOCAL_WRITE);
NUMBER(abi::kRemoteWrite, IBV_ACCESS_REMOTE_WRITE);
NUMBER(abi::kRemoteRead, IBV_ACCESS_REMOTE_READ);
NUMBER(abi::kRelaxedOrdering, IBV_ACCESS_RELAXED_ORDERING);
NUMBER(abi::kQptRc, IBV_QPT_RC);
NUMBER(abi::kQpsInit, IBV_QPS_INIT);
NUMBER(abi::kQpsRtr, IBV_QPS_RTR);
NUMBER(abi::kQpsRts, IBV_QPS_RTS);
NUMBER(abi::kQpState, IBV_QP_STATE);
NUMBER(abi::kQpAccessFlags, IBV_QP_ACCESS_FLAGS);
NUMBER(abi::kQpPkeyIndex, IBV_QP_PKEY_INDEX);
NUMBER(abi::kQpPort, IBV_QP_PORT);
NUMBER(abi::kQpAv, IBV_QP_AV);
NUMBER(abi::kQpPathMtu, IBV_QP_PATH_MTU);
NUMBER(abi::kQpTimeout, IBV_QP_TIMEOUT);
NUMBER(abi::kQpRetryCnt, IBV_QP_RETRY_CNT);
NUMBER(abi::kQpRnrRetry, IBV_QP_RNR_RETRY);
NUMBER(abi::kQpRqPsn, IBV_QP_RQ_PSN);
NUMBER(abi::kQpMaxQpRdAtomic, IBV_QP_MAX_QP_RD_ATOMIC);
NUMBER(abi::kQpMinRnrTimer, IBV_QP_MIN_RNR_TIMER);
NUMBER(abi::kQpSqPsn, IBV_QP_SQ_PSN);
NUMBER(abi::kQpMaxDestRdAtomic, IBV_QP_MAX_DEST_RD_ATOMIC);
NUMBER(abi::kQpDestQpn, IBV_QP_DEST_QPN);
NUMBER(abi::kWrRdmaWrite, IBV_WR_RDMA_WRITE);
NUMBER(abi::kWrRdmaWriteWithImm, IBV_WR_RDMA_WRITE_WITH_IMM);
NUMBER(abi::kWrSendWithImm, IBV_WR_SEND_WITH_IMM);
NUMBER(abi::kWrRdmaRead, IBV_WR_RDMA_READ);
NUMBER(abi::kSendSignaled, IBV_SEND_SIGNALED);
NUMBER(abi::kSendInline, IBV_SEND_INLINE);

}  // namespace

int main() { std::puts("all passed"); }  // it compiles
