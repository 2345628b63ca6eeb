# SPDX-License-Identifier: Apache-2.0
"""The time of one message from a rank on host memory to another, by the figures of host_cost.py."""

from railgauge.topo.predict import calibration
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.host_ranks import HostRanks

CACHE_BYTES = 2 * calibration.HOST_CACHE_BYTES
"""Up to this size a message stays in a cache: it has two buffers, where the collectives that HOST_CACHE_BYTES was set
by have four."""


def message_cost(where: HostRanks, size: int) -> Cost:
    """The time of `size` bytes from one rank to one other by `where.medium`, while nothing comes back.

    `where` has the ranks of one host that are at work; its `net_gb_per_s` is what the message has of the network,
    infinite where there is none.
    """
    step_us = where.medium.step_us
    if where.turns > 1:
        step_us = max(step_us, calibration.HOST_SWITCH_US * where.turns)
    copied = size / calibration.HOST_GB_PER_S + max(0, size - CACHE_BYTES) / calibration.HOST_MEMORY_GB_PER_S
    passed = size / min(where.net_gb_per_s, where.medium.gb_per_s)
    return Cost(latency_us=calibration.HOST_WIRE_US + step_us, transfer_us=max(where.turns * copied, passed) / 1e3)
