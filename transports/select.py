# SPDX-License-Identifier: Apache-2.0
"""Which transport two ranks use, and why not the others."""

from railgauge.topo.errors import UnavailableError
from railgauge.topo.model import Node
from railgauge.transports.peer import Peer

SHM = "SHM"
NET_SOCKET = "NET/Socket"


def plan_transport(a: Node, b: Node) -> str:
    """Name the transport that two ranks' places in a System call for."""
    return SHM if a.system == b.system else NET_SOCKET


def choose_transport(a: Peer, b: Peer) -> str:
    """Name the transport from rank `a` to rank `b`, as NCCL's log does.

    Raises:
        UnavailableError: no transport reaches from one to the other.
    """
    if a.host_id == b.host_id:
        return SHM
    raise UnavailableError(
        f"rank {a.rank} on {a.host} and rank {b.rank} on {b.host} share no memory (another host, or other pid or "
        f"network namespaces, or NCCL_HOSTID differs), and there is no network transport between hosts yet: "
        f"start all ranks on one host"
    )
