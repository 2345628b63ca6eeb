# SPDX-License-Identifier: Apache-2.0
"""How NCCL's IB plugin makes a connection: the NCCL_IB_* settings of its queue pairs and memory.

NCCL's functions: `ncclIbCreateQp`, `ncclIbRtrQp`, `ncclIbRtsQp`, `ncclIbConnect` (transport/net_ib/connect.cc),
`ncclIbIsend` (transport/net_ib/p2p.cc), `ncclIbRegMrDmaBuf` (transport/net_ib/reg.cc), `wrap_ibv_modify_qp`
(misc/ibvwrap.cc); 2.30.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.nccl.settings.bounded import bounded

NOT_SET = -2  # the setting depends on the link layer
INFINIBAND = "InfiniBand"


@dataclass(frozen=True, slots=True, kw_only=True)
class IbConnection:
    """The values of the settings; the defaults are NCCL's.

    timeout: a NIC sends again after 4.096 us x 2^timeout without an answer, retry_count times. queue_pairs: of one port
    of one connection. split: each message uses all of them. adaptive_routing: None depends on the link layer;
    adaptive_from: bytes from which a message may take several routes. modify_retries: of ibv_modify_qp after ETIMEDOUT,
    with modify_retries_all after any error; modify_pause_ms: before the first, n times that before the nth.
    """

    traffic_class: int = 0
    service_level: int = 0
    timeout: int = 20
    retry_count: int = 7
    pkey_index: int = 0
    queue_pairs: int = 1
    split: bool = False
    adaptive_routing: bool | None = None
    adaptive_from: int = 8192
    relaxed_ordering: bool = True
    modify_retries_all: bool = False
    modify_retries: int = 34
    modify_pause_ms: int = 100

    def routes_adaptively(self, link_layer: str | None) -> bool:
        """Whether packets of a message may take several routes; by default on InfiniBand only."""
        return link_layer == INFINIBAND if self.adaptive_routing is None else self.adaptive_routing


def read_ib_connection(environment: Mapping[str, str]) -> IbConnection:
    """The settings in an environment; -1 of a traffic class and service level is 0.

    Raises:
        UsageError: a value is out of range; the message gives the range.
    """
    adaptive = bounded(environment, "NCCL_IB_ADAPTIVE_ROUTING", NOT_SET)
    return IbConnection(
        traffic_class=max(0, bounded(environment, "NCCL_IB_TC", 0)),
        service_level=max(0, bounded(environment, "NCCL_IB_SL", 0)),
        timeout=bounded(environment, "NCCL_IB_TIMEOUT", 20),
        retry_count=bounded(environment, "NCCL_IB_RETRY_CNT", 7),
        pkey_index=bounded(environment, "NCCL_IB_PKEY", 0),
        queue_pairs=bounded(environment, "NCCL_IB_QPS_PER_CONNECTION", 1),
        split=bounded(environment, "NCCL_IB_SPLIT_DATA_ON_QPS", 0) == 1,
        adaptive_routing=None if adaptive == NOT_SET else adaptive != 0,
        adaptive_from=max(0, bounded(environment, "NCCL_IB_AR_THRESHOLD", 8192)),
        relaxed_ordering=bounded(environment, "NCCL_IB_PCI_RELAXED_ORDERING", 2) != 0,
        modify_retries_all=bounded(environment, "NCCL_IB_MQP_RETRY_ALL", 0) != 0,
        modify_retries=bounded(environment, "NCCL_IB_MQP_RETRY_CNT", 34),
        modify_pause_ms=bounded(environment, "NCCL_IB_MQP_RETRY_SLEEP_MSEC", 100),
    )
