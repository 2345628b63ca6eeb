# SPDX-License-Identifier: Apache-2.0
"""Which transport two ranks use, and why not the others: SHM if they can share memory, else the job's network
(network.py).
"""

from collections.abc import Sequence

from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.transports.peer import Peer

SHM = "SHM"
NET_SOCKET = "NET/Socket"
NET_IB = "NET/IB"


def why_not_shm(a: Peer, b: Peer) -> str | None:
    """Why two ranks cannot share memory; None when they can.

    NCCL's `shmCanConnect` has the same conditions: NCCL_SHM_DISABLE, one host hash, one /dev/shm. The memory here is
    reached through /proc, so the pid namespace has to be the same too; so has the network namespace, which is part of
    `host_id`, since ranks in two of them are set up as two hosts.
    """
    off = [str(one.rank) for one in (a, b) if parameter(one.settings, "NCCL_SHM_DISABLE", 0)]
    if off:
        return f"NCCL_SHM_DISABLE is set for rank {' and '.join(off)}"
    if a.host != b.host:
        return f"they are on different hosts, {a.host} and {b.host}"
    if a.host_id != b.host_id:
        return f"on {a.host} they have different pid or network namespaces, boot ids or NCCL_HOSTID"
    if a.pid_namespace != b.pid_namespace:
        return f"on {a.host} they have different pid namespaces (two containers of one NCCL_HOSTID)"
    if a.shm_device != b.shm_device:
        return f"on {a.host} they have different /dev/shm mounts (two containers?)"
    return None


def sharing_memory(peers: Sequence[Peer]) -> list[list[int]]:
    """The indices in `peers` of those that share memory with one another, groups ordered by their first member."""
    groups: list[list[int]] = []
    for place, peer in enumerate(peers):
        group = next((one for one in groups if why_not_shm(peers[one[0]], peer) is None), None)
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    return groups


def transport_name(nets: Sequence[int] | None, network: str = NET_SOCKET) -> str:
    """A step's transport as NCCL's log names it at the sender; `nets` are the devices it leaves and enters by."""
    return SHM if nets is None else f"{network}/{nets[0]}"
