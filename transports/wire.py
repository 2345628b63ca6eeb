# SPDX-License-Identifier: Apache-2.0
"""Unidirectional connections of a plan: between which ranks, on which channel, over which transport."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_IB, NET_SOCKET, transport_name, why_not_shm

Nets: TypeAlias = list[int] | None
"""The route of a step: the devices [out, in] of its two ends in the job's network; None through shared memory."""

Step: TypeAlias = tuple[int, int, int, Sequence[int] | None]
"""A channel, the ranks that it connects on it, from and to, and the route."""

ANY_DEVICE: Nets = [0, 0]
"""If no plan names devices, the first ones are used where shared memory is not possible."""


@dataclass(frozen=True, slots=True)
class Wire:
    """From rank `source` to rank `target`."""

    channel: int
    source: int
    target: int
    devices: tuple[int, int] | None
    """The network's devices at its two ends; None through shared memory."""
    network: str = NET_SOCKET
    """The job's network."""

    @property
    def name(self) -> tuple[int, int, int]:
        """The same on both ends, and unique."""
        return self.channel, self.source, self.target

    @property
    def planned(self) -> str:
        """The transport as NCCL's log names it."""
        return transport_name(self.devices, self.network)

    @property
    def over_sockets(self) -> bool:
        """Whether it is one of NET/Socket."""
        return self.devices is not None and self.network == NET_SOCKET

    @property
    def over_ib(self) -> bool:
        """Whether it is one of NET/IB."""
        return self.devices is not None and self.network == NET_IB


def wire(channel: int, source: int, target: int, nets: Sequence[int] | None) -> Wire:
    """A wire from the form in which plans give routes."""
    return Wire(channel, source, target, None if nets is None else (nets[0], nets[1]))


def unplanned_step(a: Peer, b: Peer) -> Nets:
    """The route of a step that is not in a plan."""
    return None if why_not_shm(a, b) is None else ANY_DEVICE
