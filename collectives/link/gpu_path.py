# SPDX-License-Identifier: Apache-2.0
"""The topology of pairs of GPUs: the path, its NVLinks and bandwidth, and whether NCCL uses P2P there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge.collectives.gpu_links import near_cpus, of_gpus
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.bandwidth import nvlink_count
from railgauge.topo.nccl.graph.model import Link, LinkKind, NodeKind
from railgauge.topo.nccl.graph.peer_status import denied_pairs
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import Path, paths
from railgauge.topo.nccl.paths.peer_access import PeerRule
from railgauge.topo.nccl.settings.levels import read_levels

NO_P2P = {"NCCL_P2P_DISABLE": "1", "NCCL_NET_DISABLE_INTRA": "1"}
"""Settings under which paths between GPUs go through memory of the host."""


@dataclass(frozen=True, slots=True)
class GpuPath:
    """By NCCL's model; all of it None if the topology has no path between them."""

    type: str | None = None
    nvlinks: int | None = None
    """On a path of type NVL, in its part with the fewest."""
    gb_per_s: float | None = None

    @property
    def label(self) -> str:
        """As in `nvidia-smi topo -m`: NV18, PIX, SYS."""
        return f"NV{self.nvlinks}" if self.nvlinks else self.type or "an unknown path"


class GpuPaths:
    """Between GPUs of a machine, numbered as they are given."""

    def __init__(self, machine: Machine, bus_ids: Sequence[str], environ: Mapping[str, str]) -> None:
        """NCCL's settings in `environ` apply.

        Raises:
            UnavailableError: the topology lacks one of the GPUs.
        """
        self._system = system = build_system(of_gpus(machine.topology, bus_ids))
        denied = denied_pairs(build_system(machine.topology), machine.reader)
        self._peers = paths(system, levels=read_levels(environ), denied=denied)
        self._host = paths(system, levels=read_levels({**environ, **NO_P2P}), denied=denied)
        self._ids = [gpu.id for gpu in system.ranks]
        self.numa = [cpu.numa if (cpu.numa or 0) >= 0 else None for cpu in near_cpus(system)]

    def no_p2p(self, a: int, b: int) -> str | None:
        """Why NCCL uses no P2P between two of them; None where it does."""
        access = self._peers.peer_access(self._ids[a], self._ids[b])
        if access.allowed:
            return None
        if access.rule is PeerRule.DENIED:
            return "NVML denies peer access"
        return f"{access.level.source} allows P2P up to {access.level.type}, and the path is {access.distance}"

    def peer(self, a: int, b: int) -> GpuPath:
        """The path of P2P."""
        return self._path(self._peers.wired(self._ids[a], self._ids[b]))

    def through_host(self, a: int, b: int) -> GpuPath:
        """The path through memory of the host."""
        return self._path(self._host.get(self._ids[a], self._ids[b]))

    def _path(self, path: Path) -> GpuPath:
        if not path.links:
            return GpuPath()
        wires = [link for link in path.links if link.kind is LinkKind.NVL]
        nvlinks = min(map(self._nvlinks, wires)) if path.type == "NVL" else None
        return GpuPath(path.type, nvlinks, path.gb_per_s)

    def _nvlinks(self, wire: Link) -> int:
        """The number of NVLinks of a wire; one of its ends is a GPU's card."""
        ends = (self._system.node(end) for end in (wire.source, wire.target))
        return nvlink_count(next(end for end in ends if end.kind is NodeKind.DEV), wire.gb_per_s)
