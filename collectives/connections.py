# SPDX-License-Identifier: Apache-2.0
"""One rank's connections, as the native engine asks for them (collectives/native/rank_connections.h)."""

from collections.abc import Sequence
from dataclasses import replace

from railgauge._native import collectives as native
from railgauge._native.transports import Doorbell, SharedSegment
from railgauge.collectives.cost.calibration import HOST_PLACE_BYTES
from railgauge.collectives.flight_recorder import standing
from railgauge.transports.connect import Connector, End
from railgauge.transports.fault import Fault
from railgauge.transports.group import Group
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer
from railgauge.transports.standing import BlockedOn, Standing
from railgauge.transports.wire import Nets, Step, Wire, unplanned_step, wire


class Connections:
    """This rank's connections in a group. Made by all its ranks together.

    Steps count ranks in the group; wires, and what the native engine reports, in the job.
    """

    def __init__(self, group: Group, network: Network, fault: Fault | None) -> None:
        self._group = group
        self._members = group.members
        self.doorbell = Doorbell()
        self._network = network
        self._connector = Connector(group, self.doorbell, fault, network)
        self.ends: dict[Wire, End] = {}
        self.engine: native.Communicator | None = None
        """The native communicator that uses them, once it is made."""
        self.segment: SharedSegment | None = None
        """What this rank shares with the others of its host; None without one."""

    def connect(self, steps: Sequence[Step]) -> list[End | None]:
        """Connect steps; returns this rank's end of each, None where it has none. All ranks do it together, with the
        same steps. Errors are those of `Connector.connect`.
        """
        wires = [self._in_job(wire(*step)) for step in steps]
        made = self._connector.connect(wires)
        self.ends |= made
        return [made.get(one) for one in wires]

    def shared_segment(self, sharing: Sequence[int]) -> SharedSegment:
        """Open the shared segments of the ranks that share memory with this one, including its own."""
        self.segment = self._connector.shared_segment(HOST_PLACE_BYTES, sharing)
        return self.segment

    @property
    def bytes_shown(self) -> int | None:
        """How many bytes this rank has put into its shared segment; None without one."""
        return None if self.segment is None else self.segment.bytes

    def register(self, address: int, size: int) -> bool:
        """Register memory with RDMA devices; returns whether they send from it from now on. Errors are those of
        `Connector.register`.
        """
        return self._connector.register(address, size)

    def deregister(self, address: int, size: int) -> None:
        """Take one `register` back."""
        self._connector.deregister(address, size)

    @property
    def is_amid(self) -> bool:
        """Whether an operation has started and not ended."""
        return self.engine is not None and self.engine.is_amid

    def standing(self) -> Standing:
        """This rank's state here, by its number in the job; for any thread."""
        if self.engine is None:
            return Standing(self._group.name, list(self._members), [], BlockedOn())
        return standing(self.engine, self._group)

    def abort(self) -> None:
        """Wake this rank, and close its connections over the network."""
        self.doorbell.abort()
        self._connector.abort()

    def close(self) -> None:
        """Send what the others still have to receive, and end; may be called twice."""
        self._connector.close()

    def _in_job(self, one: Wire) -> Wire:
        """A wire by the ranks' numbers in the job, and by NICs that they have."""
        network = self._network
        source, target = self._members[one.source], self._members[one.target]
        devices = one.devices and network.devices_of((source, target), one.devices)
        return replace(one, source=source, target=target, devices=devices, network=network.name)


def ring_steps(peers: Sequence[Peer]) -> list[Nets]:
    """The route of each step of a ring that is not in a plan, ranks in ring order."""
    return [unplanned_step(a, b) for a, b in zip(peers, [*peers[1:], peers[0]], strict=True)]


def interfaces(nets: Sequence[list[Nets]]) -> int:
    """Through how many interfaces rings leave hosts; 1 if they leave none."""
    return len({step[0] for steps in nets for step in steps if step}) or 1
