# SPDX-License-Identifier: Apache-2.0
"""The judge of the NVLinks of a GPU: too few where more than half of the GPUs of the same compute capability on the
host have more, or half of those at NVSwitches, or others where all are joined in pairs; where NVML lists more, or the
GPU at the other end has more of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from railgauge.topo.link_state.verdict import FAULTS, Excuse, Key, Reason, Verdict

BRIDGED_FROM = 80
"""Compute capability from which pairs are of cards with bridges. Boards before it (DGX-1) join some GPUs by one link,
others by two, and a container may have unlike pairs of them.
"""
MESH_LEAST, MESH_SHARE = 3, 3 / 4  # GPUs wired to each other need not have as many in a part of a machine


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlLinks:
    """What NVML reports of the NVLinks of a GPU: how many it lists, how many of those are up, how many are down though
    their other end is known, and whether links that are all down should be up.

    cut_to: of those that are down, how many end at each device whose bus id is known.
    """

    listed: int
    up: int
    cut: int
    connected: bool
    cut_to: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlinkGpu:
    """The NVLinks of a GPU: their number, and to whom by key, of those that end at GPUs.

    switched: none ends at a GPU or a CPU. gfx: AMD's architecture. model: PCI's number of it, empty if unknown. nvml is
    None where it reports nothing. mig: the GPU is in MIG mode.
    """

    key: Key
    bus_id: str
    sm: int
    gfx: str | None
    count: int
    peers: Mapping[Key, int]
    switched: bool
    model: str = ""
    nvml: NvmlLinks | None = None
    mig: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlinkState:
    """What the judge makes of the NVLinks of a GPU: it has `count` of `full`; of ONE_SIDED, to the GPU `peer`.

    uneven: the GPUs that have more NVLinks to it than it has to them.
    """

    gpu: NvlinkGpu
    verdict: Verdict = Verdict.GOOD
    reason: Reason | None = None
    excuse: Excuse | None = None
    count: int = 0
    full: int = 0
    peer: NvlinkGpu | None = None
    uneven: tuple[Key, ...] = ()

    @property
    def is_fault(self) -> bool:
        """Whether pictures mark it and `check` warns of it."""
        return self.verdict in FAULTS


def judge_nvlinks(gpus: Sequence[NvlinkGpu]) -> dict[Key, NvlinkState]:
    """The state of the NVLinks of each GPU; `gpus` are all of one or more hosts, each once."""
    usual = _usual(gpus)
    states = {gpu.key: _nvlinks(gpu, usual.get((gpu.key[0], gpu.sm, gpu.gfx or ""))) for gpu in gpus}
    listed = [state for state in states.values() if state.reason is Reason.LISTED]
    if len(listed) == len(gpus) > 1 and len({state.count for state in listed}) == 1 and listed[0].count:
        return {
            state.gpu.key: _of(state.gpu, Verdict.BY_DESIGN, Reason.LISTED, state.full, Excuse.ALIKE)
            for state in listed
        }
    for short, other, count, full in one_sided(gpus):
        pair = states[short], states[other]
        if not any(state.is_fault or state.excuse for state in pair):
            states[short] = NvlinkState(
                gpu=pair[0].gpu,
                verdict=Verdict.DEGRADED,
                reason=Reason.ONE_SIDED,
                count=count,
                full=full,
                peer=pair[1].gpu,
            )
        states[short] = replace(states[short], uneven=(*states[short].uneven, other))
    return states


def one_sided(gpus: Iterable[NvlinkGpu]) -> list[tuple[Key, Key, int, int]]:
    """The pairs of GPUs that do not have as many NVLinks to each other: the end with fewer, the other, both counts."""
    known = {gpu.key: gpu.peers for gpu in gpus}
    pairs = [(here, there) for here, peers in known.items() for there in peers if here != there and there in known]
    found = []
    for here, there in dict.fromkeys(tuple(sorted(pair)) for pair in pairs):
        one, other = known[here].get(there, 0), known[there].get(here, 0)
        if one != other:
            found.append((here, there, one, other) if one < other else (there, here, other, one))
    return found


def _usual(gpus: Sequence[NvlinkGpu]) -> dict[tuple[str, int, str], int]:
    """How many NVLinks most GPUs of a kind on a host have, by host and architecture, where that can be said."""

    def kind(gpu: NvlinkGpu) -> tuple[str, int, str]:
        return gpu.key[0], gpu.sm, gpu.gfx or ""

    meshed = {gpu.key[0] for gpu in gpus if gpu.peers}
    found = {}
    for (host, sm, gfx), alike in groupby(sorted(gpus, key=kind), kind):
        same = list(alike)
        counts = Counter(map(attrgetter("count"), same))
        count, many = max(counts.items(), key=lambda one: (one[1], one[0]))
        if host in meshed:
            enough = many >= max(MESH_LEAST, len(same) * MESH_SHARE)
        else:
            enough = many * 2 > len(same) or (many * 2 == len(same) and count > 0)
        if enough or _in_pairs(same):
            found[host, sm, gfx] = count if enough else max(counts)
    return found


def _in_pairs(gpus: Sequence[NvlinkGpu]) -> bool:
    """Whether cards of one model are joined in pairs, by bridges, which have as many NVLinks for each pair."""
    alike = len({(gpu.model, len(gpu.peers)) for gpu in gpus}) == 1
    return alike and gpus[0].sm >= BRIDGED_FROM and bool(gpus[0].model) and len(gpus[0].peers) == 1


def _nvlinks(gpu: NvlinkGpu, usual: int | None) -> NvlinkState:
    if gpu.mig:
        return _of(gpu, Verdict.BY_DESIGN, None, gpu.count, Excuse.MIG)
    listed = _listed(gpu)
    if usual is not None and gpu.count < usual and (listed or 0) <= usual:
        return _of(gpu, Verdict.BELOW_PEERS, Reason.SIBLINGS, usual)
    if listed is not None and gpu.count < listed:
        return _of(gpu, Verdict.DEGRADED, Reason.LISTED, listed)
    return _of(gpu, Verdict.UNKNOWN if usual is None and listed is None else Verdict.GOOD, None, gpu.count)


def _listed(gpu: NvlinkGpu) -> int | None:
    """How many NVLinks it should have by NVML. Of a card without a bridge all are down for good, and bridges between
    GPUs need not use all; those to NVSwitches that are up without use are for MIG or peer access to tell.
    """
    nvml = gpu.nvml
    if nvml is None:
        return None
    if gpu.count and not gpu.switched:
        return gpu.count + nvml.cut
    if not gpu.count and (nvml.up or not nvml.connected):
        return 0
    return nvml.listed


def _of(
    gpu: NvlinkGpu, verdict: Verdict, reason: Reason | None, full: int, excuse: Excuse | None = None
) -> NvlinkState:
    return NvlinkState(gpu=gpu, verdict=verdict, reason=reason, excuse=excuse, count=gpu.count, full=full)
