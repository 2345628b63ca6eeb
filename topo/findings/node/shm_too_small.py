# SPDX-License-Identifier: Apache-2.0
"""/dev/shm is too small for the segments with which GPUs without P2P exchange data."""

from collections.abc import Iterator
from itertools import pairwise

from railgauge.topo.errors import Error
from railgauge.topo.findings.cards.process import SHM_TOO_SMALL
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

SEGMENT_BYTES = 9_637_888
"""One connection of one channel: the buffers of all three protocols. NCCL prints it when there is no room for it
(pytorch/ci-infra#490)."""
LEAST_CHANNELS = 2  # the fewest that NCCL makes between two ranks of a ring
MOST_CHANNELS = 64  # MAXCHANNELS
CONTAINERS = 64 << 20  # what a container gets unless it asks for more (docker run --shm-size)
MB = 1_000_000


def _check(machine: Machine) -> Iterator[Finding]:
    memory = machine.sources.shared_memory
    if memory is None:
        yield RULE.unknown("/dev/shm", "its size was not captured")
    elif memory.error:
        yield RULE.unknown("/dev/shm", memory.error)
    else:
        hops = _hops_without_p2p(machine)
        least, most = (hops * channels * SEGMENT_BYTES for channels in (LEAST_CHANNELS, MOST_CHANNELS))
        channels = _channels(machine) if least <= memory.free_bytes < most else LEAST_CHANNELS
        need = hops * channels * SEGMENT_BYTES
        enough = CONTAINERS + 1 if len(machine.system.gpus) > 1 else SEGMENT_BYTES
        if memory.free_bytes < max(need, enough):
            yield RULE.finding(
                _level(memory.free_bytes, need),
                "/dev/shm",
                f"{memory.free_bytes / MB:.0f} MB of {memory.size_bytes / MB:.0f} MB are free; " + _told(hops, need),
                free_bytes=memory.free_bytes,
                size_bytes=memory.size_bytes,
                need_bytes=need,
                channels=channels,
            )


def _level(free: int, need: int) -> Level:
    """FAIL if not one segment fits, INFO if there is room for what NCCL needs."""
    if free >= need:
        return Level.INFO
    return Level.FAIL if free < SEGMENT_BYTES else Level.WARN


def _told(hops: int, need: int) -> str:
    if need:
        return f"{hops} ring hops without P2P need {need / MB:.0f} MB"
    return "NCCL uses P2P here, but other programs of a job need more"


def _channels(machine: Machine) -> int:
    """The number of channels that NCCL would run."""
    from railgauge.topo.predict.nccl_model import channels_most
    from railgauge.topo.predict.planned import planned

    try:
        return max(LEAST_CHANNELS, channels_most(planned(machine)))
    except Error:
        return LEAST_CHANNELS


def _hops_without_p2p(machine: Machine) -> int:
    """Neighbours in a ring of all GPUs that cannot reach each other's memory, in both directions."""
    gpus = [gpu.id for gpu in machine.system.gpus]
    ring = [*pairwise(gpus), *([(gpus[-1], gpus[0])] if len(gpus) > 2 else [])]
    return 2 * sum(1 for one, other in ring if not machine.paths.peer_access(one, other).allowed)


RULE = Rule(card=SHM_TOO_SMALL, check=_check)
