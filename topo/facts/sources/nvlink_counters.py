# SPDX-License-Identifier: Apache-2.0
"""The NVLinks of each GPU as one link: what they carried together, in KiB of payload."""

from railgauge.topo.facts.reader import Facts
from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind, LinkCounters

KIB = 1024


def read_nvlink_counters(answers: Facts | None) -> tuple[LinkCounters, ...]:
    """Out of NVML's answers (gpu_counters.py), by GPU; without GPUs whose NVLinks are missing or unreadable."""
    gpus = ((gpu["index"], [link for link in gpu["nvlinks"] if None not in link]) for gpu in _gpus(answers))
    return tuple(_gpu(index, links) for index, links in gpus if links)


def _gpus(answers: Facts | None) -> list[Facts]:
    return list((answers or {}).get("gpus", ()))


def _gpu(index: int, links: list[list[int]]) -> LinkCounters:
    sent, received = (sum(link[way] for link in links) for way in (0, 1))
    return LinkCounters(
        kind=CounterKind.NVLINK,
        name=f"GPU{index} NVLink",
        counts={ByteDirection.SENT: {"data": sent}, ByteDirection.RECEIVED: {"data": received}},
        unit_bytes=KIB,
        made=f"{len(links)} links",
    )
