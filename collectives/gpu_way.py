# SPDX-License-Identifier: Apache-2.0
"""How GPUs reach each other, and how much memory that needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from railgauge.collectives.gpu_blocks import ANY_NUMBER, BlockLimits
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import Plan
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer
from railgauge.transports.select import SHM
from railgauge.transports.wire import Nets, Wire, unplanned_step

WAYS = (
    (Algorithm.ONE_SHOT, Protocol.LL),
    (Algorithm.TWO_SHOT, Protocol.SIMPLE),
    (Algorithm.TWO_SHOT, Protocol.LL128),
    (Algorithm.RING, Protocol.SIMPLE),
    (Algorithm.TREE, Protocol.SIMPLE),
    (Algorithm.ZERO_COPY, Protocol.SIMPLE),
    (Algorithm.COPY_ENGINE, Protocol.SIMPLE),
    (Algorithm.NVLS, Protocol.SIMPLE),
)
"""In the order of the native engine's numbers (collectives/native/gpu/choice.h)."""
EXCHANGES = (Algorithm.ONE_SHOT, Algorithm.TWO_SHOT)
DUE = -1
"""In place of one of WAYS: the engine chooses."""
MOST_AT_ONCE = 8
"""Ranks that one kernel exchanges between; pairs among more ranks are exchanged in rounds (`native/gpu/rounds.h`)."""
MOST_DIRECT = 64
"""The most ranks that all reach each other; among more, each reaches only its neighbours in rings and trees."""
SLOTS = 4
"""Bytes of a connection for one block (collectives/native/kernels/arguments.h)."""
BOXES_BYTES, BOXES_ON_HOST_BYTES = 512 << 20, 256 << 20
"""The most memory that the staging buffers of a rank take, of its GPU or pinned on the host, if it has more peers than
one kernel exchanges with."""
LEAST_BLOCKS = 4
SLOTS_BYTES = 128 << 10
"""Bytes of the messages under way in one GPU, from all peers, per block and queue entry."""


MOST_PROXIES, CORES_OF_A_PROXY = 4, 2
"""Threads of a rank's proxy that move staging buffers between nodes, and the cores that each needs: the kernel's part
of the copies needs one too."""


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One of WAYS, and its kernel's launch parameters; 0: the engine chooses."""

    algorithm: Algorithm
    protocol: Protocol
    blocks: int = 0
    chunk_bytes: int = 0

    @property
    def numbers(self) -> tuple[int, int, int]:
        """As the native engine takes it."""
        return WAYS.index((self.algorithm, self.protocol)), self.blocks, self.chunk_bytes


PAGE = 4 << 10
"""Slots are whole ones, so that vectors stay aligned."""


class Via(IntEnum):
    """How one rank reaches another, with the native engine's numbers (collectives/native/gpu/staging_buffers.h)."""

    NONE = 0
    DIRECT = 1
    IPC = 2
    SHM = 3
    NET = 4
    MNNVL = 5

    @property
    def maps_peer(self) -> bool:
        """Whether a GPU maps the other one's memory."""
        return self in (Via.DIRECT, Via.IPC, Via.MNNVL)


NAMES = {Via.DIRECT: "P2P/direct pointer", Via.IPC: "P2P/IPC", Via.SHM: SHM, Via.MNNVL: "P2P/MNNVL"}
"""As NCCL's log names them; NET by its connections."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of a communicator's staging buffers (collectives/native/kernels/arguments.h)."""

    blocks: int
    slot_bytes: int
    line_blocks: int
    full_lines: int

    @classmethod
    def of(cls, vias: Sequence[Sequence[Via]], *, nvlink: bool, limits: BlockLimits = ANY_NUMBER) -> "Layout":
        """For all ranks' paths; `nvlink`: all pairs have it, which delivers stores of 128 bytes whole. Buffers of fewer
        blocks are smaller, of more larger.
        """
        found = cls._of(vias, nvlink=nvlink)
        blocks, line_blocks = limits.of(found.blocks), min(found.line_blocks, limits.most)
        full_lines = found.full_lines * blocks // found.blocks
        return replace(found, blocks=blocks, line_blocks=line_blocks, full_lines=full_lines)

    @classmethod
    def _of(cls, vias: Sequence[Sequence[Via]], *, nvlink: bool) -> "Layout":
        ranks = len(vias)
        network, shared = (any(via in row for row in vias) for via in (Via.NET, Via.SHM))
        if ranks > MOST_AT_ONCE:
            peers = max(sum(via is not Via.NONE for via in row) for row in vias)
            most, slot = (16, 128 << 10) if network else (64, 32 << 10) if shared else (128, 16 << 10)
            room = BOXES_ON_HOST_BYTES if network or shared else BOXES_BYTES
            of_a_block = (
                peers * 2 * SLOTS * slot * (2 if network else 1)
            )  # inputs and results; staging buffers at both ends
            return cls(max(LEAST_BLOCKS, min(most, room // of_a_block)), slot, 1, 0)
        if network:
            return cls(16, 128 << 10, 1, 0)
        if shared:
            return cls(64, 32 << 10, 64, 0)
        slot = min(64 << 10, max(16 << 10, SLOTS_BYTES // ranks // PAGE * PAGE))
        return cls(128, slot, 128, (80 << 10) // ranks if nvlink else 0)

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """As the native engine takes them."""
        return self.blocks, self.slot_bytes, self.line_blocks, self.full_lines


def between_gpus(collective: Collective, *, network: bool) -> list[Algorithm]:
    """The engine's number for it between GPUs."""
    found = [Algorithm.TWO_SHOT] if network else [*EXCHANGES]
    if collective.in_pairs:
        return found
    return [*found, Algorithm.RING, *[Algorithm.TREE] * (collective is Collective.ALL_REDUCE)]


def allowed_ways(settings: Mapping[str, str], *, in_channels: bool) -> dict[Collective, list[int]]:
    """By collective the WAYS that NCCL_ALGO and NCCL_PROTO allow, in the order in which they are tried; nothing for a
    collective that they do not restrict. Exchanges of each with each count as NCCL's ring.

    Raises:
        UsageError: NCCL_ALGO or NCCL_PROTO is a value that NCCL would reject.
    """
    allowed = read_allowed(settings)
    found = {}
    for collective in NUMBERS:
        algorithms, protocols = allowed.algorithms.get(collective), allowed.protocols.get(collective)
        if in_channels or algorithms is not None:
            names = {"ring"} if in_channels and algorithms is None else set(algorithms or ())
            found[collective] = [way for way, (algorithm, _) in enumerate(WAYS) if algorithm.value in names]
        elif protocols is not None:
            found[collective] = [
                way for way, (algorithm, one) in enumerate(WAYS) if one.value in protocols and algorithm in EXCHANGES
            ]
    return found


def proxies_of(peers: Sequence[Peer], rank: int) -> int:
    """For how many proxy threads between nodes a rank has cores."""
    of_host = sum(peer.host == peers[rank].host for peer in peers)
    return max(1, min(MOST_PROXIES, len(peers[rank].cpus) // (CORES_OF_A_PROXY * of_host)))


def vias_of(peers: Sequence[Peer], plan: Plan, reach: Sequence[Sequence[bool]]) -> list[list[Via]]:
    """By rank and rank how one reaches the other. `reach`: whether a rank's GPU maps the memory of another's."""
    size = len(peers)
    near = _neighbours(plan, size) if size > MOST_DIRECT else None
    return [
        [
            Via.NONE if a == b or (near is not None and b not in near[a]) else _via(a, b, peers, plan, reach)
            for b in range(size)
        ]
        for a in range(size)
    ]


def net_wires(plan: Plan, network: Network, vias: Sequence[Sequence[Via]], members: Sequence[int]) -> list[Wire]:
    """The connections that carry staging buffers between nodes: those of the plan's rings and trees, else through the
    NIC of the sender's GPU, on its rail. Over sockets, the first interfaces. `members`: the ranks' numbers in the job,
    by which the wires and the network's devices go.
    """
    planned: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for source, target, nets in _planned_steps(plan):
        devices = nets and network.devices_of((members[source], members[target]), (nets[0], nets[1]))
        if devices and devices not in planned.setdefault((source, target), []):
            planned[source, target].append(devices)
    return [
        Wire(channel, members[source], members[target], devices, network.name)
        for source, row in enumerate(vias)
        for target, via in enumerate(row)
        if via is Via.NET
        for channel, devices in enumerate(
            planned.get((source, target)) or [network.on_rail(members[source], plan.nics[source], members[target])]
        )
    ]


def _via(one: int, other: int, peers: Sequence[Peer], plan: Plan, reach: Sequence[Sequence[bool]]) -> Via:
    a, b = peers[one], peers[other]
    if a.host_id != b.host_id:
        return Via.MNNVL if reach[one][other] and reach[other][one] else Via.NET
    p2p = plan.p2p[one][other] and plan.p2p[other][one]
    if p2p and reach[one][other] and reach[other][one] and not _off(a, b, "NCCL_P2P_DISABLE"):
        return Via.DIRECT if a.pid_hash == b.pid_hash else Via.IPC
    return Via.SHM if unplanned_step(a, b) is None else Via.NET


def _off(a: Peer, b: Peer, setting: str) -> bool:
    return any(parameter(one.settings, setting, 0) for one in (a, b))


def _planned_steps(plan: Plan) -> list[tuple[int, int, Nets]]:
    rings = [
        (source, target, nets)
        for ring, steps in zip(plan.rings, plan.nets, strict=True)
        if len(ring) > 1
        for source, target, nets in zip(ring, [*ring[1:], ring[0]], steps, strict=True)
    ]
    trees = [
        step
        for tree in plan.trees
        for rank, parent in enumerate(tree.parents)
        if parent >= 0
        for step in ((rank, parent, tree.up[rank]), (parent, rank, tree.down[rank]))
    ]
    return rings + trees


def _neighbours(plan: Plan, size: int) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(size)]
    for source, target, _ in _planned_steps(plan):
        near[source].add(target)
        near[target].add(source)
    return near
