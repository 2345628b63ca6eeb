# SPDX-License-Identifier: Apache-2.0
"""The time of one message from a rank on host memory to another, by the figures of host_cost.py."""

from railgauge.topo.predict import calibration
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.host_ranks import HostRanks

CACHE_BYTES = 2 * calibration.HOST_CACHE_BYTES
"""Up to this size a message stays in a cache: it has two buffers, where the collectives that HOST_CACHE_BYTES was set
by have four."""


def message_cost(where: HostRanks, size: int, *, by_socket: bool) -> Cost:
    """The time of `size` bytes from one rank to one other, while nothing comes back.

    `where` has the ranks of one host that are at work; its `net_gb_per_s` is what the message has of the wire, infinite
    where there is none.
    """
    step_us = calibration.HOST_NET_STEP_US if by_socket else calibration.HOST_STEP_US
    if where.turns > 1:
        step_us = max(step_us, calibration.HOST_SWITCH_US * where.turns)
    copied = size / calibration.HOST_GB_PER_S + max(0, size - CACHE_BYTES) / calibration.HOST_MEMORY_GB_PER_S
    rate = min(where.net_gb_per_s, calibration.HOST_SOCKET_GB_PER_S) if by_socket else where.net_gb_per_s
    passed = size / rate
    return Cost(latency_us=calibration.HOST_WIRE_US + step_us, transfer_us=max(where.turns * copied, passed) / 1e3)
