# SPDX-License-Identifier: Apache-2.0
"""Which GPUs map each other's memory: on a host where the driver lets them, on several hosts by NVLink."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railgauge._native import collectives as native
from railgauge.collectives.gpu_way import Via
from railgauge.collectives.nvlink_between_hosts import SETTING, NvlinkBetweenHosts
from railgauge.collectives.nvls import why_no_nvls
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.settings.mnnvl import REQUIRED, read_mnnvl
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.transports.group import Group
from railgauge.transports.peer import Peer
from railgauge.transports.typed import listed

DESCRIPTOR, FABRIC = 1, 8
"""CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_HANDLE_TYPE_FABRIC."""


class GpuReach(NamedTuple):
    """What one rank knows of it."""

    maps: list[list[bool]]
    """By rank and rank, whether one's GPU maps the other's memory."""
    not_exportable: str
    """Why this rank's memory is mapped by CUDA IPC, which takes a common pid and IPC namespace; empty: it is mapped
    through descriptors."""
    not_by_nvlink: list[str]
    """By rank of another host why NVLink does not connect it with this one; empty: it does, or nobody expects it."""
    no_nvls: list[str]
    """By rank why it has no sums by NVSwitches; empty: it has."""

    def part(self, ranks: Sequence[int]) -> "GpuReach":
        """Of some ranks, in this order."""
        maps = [[self.maps[a][b] for b in ranks] for a in ranks]
        not_by_nvlink, no_nvls = ([of[rank] for rank in ranks] for of in (self.not_by_nvlink, self.no_nvls))
        return self._replace(maps=maps, not_by_nvlink=not_by_nvlink, no_nvls=no_nvls)

    def handle_types(self, vias: Sequence[Via], *, nvls: bool) -> int:
        """The handles that memory needs which this rank lends over these paths, or that NVSwitches add up; 0: none, it
        is cudaMalloc's.
        """
        if Via.MNNVL in vias:
            return DESCRIPTOR | FABRIC
        return DESCRIPTOR if (nvls or Via.IPC in vias) and not self.not_exportable else 0


def find_reach(
    group: Group, peers: Sequence[Peer], domains: Sequence[str], settings: Mapping[str, str], device: int
) -> GpuReach:
    """Find it out; all ranks of the group call it together. `domains`: by rank the NVLink domain (`Plan.domains`);
    `device`: CUDA's number of this rank's GPU.

    Raises:
        UnavailableError: NCCL_MNNVL_ENABLE=1, and NVLink does not connect the GPUs of two hosts; all ranks raise it.
        RunError: a rank was lost meanwhile.
    """
    own = peers[group.rank]
    not_exportable = _why_not_exportable(settings, device)
    here = [
        one.host_id == own.host_id
        and (one.pid_namespace == own.pid_namespace or not not_exportable)
        and native.gpus_reach(own.bus_id or "", one.bus_id or "")
        for one in peers
    ]
    no_nvls = why_no_nvls(settings, device, not_exportable)
    told = group.all_gather([here, no_nvls], listed(listed(*[bool] * len(peers)), str))
    maps = [list(row) for row, _ in told]
    nvlink = NvlinkBetweenHosts(group, peers, domains, device, not_exportable)
    required = read_mnnvl(own.settings).mode == REQUIRED
    for (a, one), (b, other) in itertools.permutations(enumerate(peers), 2) if required or nvlink.is_tried else ():
        if one.host_id == other.host_id:
            continue
        why_not = nvlink.why_not(a, b)
        maps[a][b] = not why_not
        if why_not and required:
            raise UnavailableError(f"{SETTING}=1: no NVLink between ranks {one.rank} and {other.rank}: {why_not}")
    remarks = [nvlink.remark(rank) if one.host_id != own.host_id else "" for rank, one in enumerate(peers)]
    return GpuReach(maps, not_exportable, remarks, [why for _, why in told])


def _why_not_exportable(settings: Mapping[str, str], device: int) -> str:
    if parameter(settings, "NCCL_CUMEM_ENABLE", -2) == 0:
        return "NCCL_CUMEM_ENABLE=0"
    return native.why_not_exportable(device)
