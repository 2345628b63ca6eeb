# SPDX-License-Identifier: Apache-2.0
"""The time of one message from a rank on host memory to another, by the model of host_cost.py."""

from railgauge.topo.predict import calibration
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.host_cost import between_us, copying_us
from railgauge.topo.predict.host_ranks import HostRanks, Moves


def message_cost(where: HostRanks, size: int, *, by_socket: bool) -> Cost:
    """The time of `size` bytes from one rank to one other, while nothing comes back.

    `where` has the ranks of one host that are at work; its `net_gb_per_s` is what the message has of the wire, infinite
    where there is none.
    """
    moves = Moves(
        steps=1,
        crossings=int(by_socket),
        passed=1.0,
        leaving=1.0 if by_socket else 0.0,
        senders=int(by_socket),
    )
    step_us = calibration.HOST_NET_STEP_US if by_socket else calibration.HOST_STEP_US
    if where.turns > 1:
        step_us = max(step_us, calibration.HOST_SWITCH_US * where.turns)
    transfer = max(copying_us(where, moves, size), between_us(where, moves, size))
    return Cost(latency_us=calibration.HOST_WIRE_US + step_us, transfer_us=transfer)
