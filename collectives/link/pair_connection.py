# SPDX-License-Identifier: Apache-2.0
"""The connections of one round, between the two ranks of each pair over one transport; and timed messages on them."""

import enum
from collections.abc import Sequence
from typing import Any

from railgauge._native import collectives as native
from railgauge._native.transports import FaultySender
from railgauge.collectives.connections import Connections
from railgauge.collectives.ending import Ending
from railgauge.collectives.link.tournament import Pair
from railgauge.collectives.link.way import Way
from railgauge.collectives.waiting import is_crowded
from railgauge.transports.bootstrap import Bootstrap, Watch
from railgauge.transports.connect import End
from railgauge.transports.fault import Fault
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_IB
from railgauge.transports.wire import Wire


class Traffic(enum.IntEnum):
    """What a rank does in a timed exchange (collectives/native/host_engine.h)."""

    SEND = 0
    RECEIVE = 1
    BOTH = 2
    ASK = 3
    ANSWER = 4


class PairConnections:
    """One rank's end of a round's connections. All ranks make it together; ranks without a pair have none."""

    def __init__(
        self,
        job: Bootstrap,
        peers: Sequence[Peer],
        way: Way,
        network: Network,
        channel: int,
        pairs: Sequence[Pair],
        fault: Fault | None,
    ) -> None:
        """Connect both ranks of each pair, as `channel` of the job; `network` is the job's.

        Raises:
            RunError: a rank was lost meanwhile, or cannot be reached. UnavailableError: an interface does not exist.
        """
        self._job = job
        self._connections = made = Connections(job, network if way.transport == NET_IB else SOCKETS, fault)
        self._ending = Ending(job, made)
        self._watch = Watch(made.standing, made.abort)
        job.attend(self._watch)
        steps = [(channel, *ends, way.step(*ends)) for a, b in pairs for ends in ((a, b), (b, a))]
        at_work = [peers[rank] for pair in pairs for rank in pair]
        self._native = self._ending.connecting(
            lambda: native.Communicator.of_pairs(
                job.rank,
                job.world_size,
                made.doorbell,
                made,
                steps,
                timeout_s=job.timeout_s,
                crowded=is_crowded(peers[job.rank], at_work),
            )
        )
        made.engine = self._native

    def seconds(
        self, peer: int, traffic: Traffic, source: Any, destination: Any, size: int, *, ahead: int = 0, times: int = 1
    ) -> float:
        """Seconds of one of `times` messages of `size` bytes, including the answer; the peer calls the counterpart.

        Raises:
            RunError: the peer was lost, or nothing moved within the timeout.
        """
        return self._ending.running(
            lambda: self._native.time_pair(peer, int(traffic), source, destination, size, ahead, times)
        )

    @property
    def ends(self) -> dict[Wire, End]:
        """This rank's connections."""
        return self._connections.ends

    def arm_fault(self) -> bool:
        """Arm an injected fault from here on; returns whether there is one on this rank's connections."""
        faulty = [end for end in self.ends.values() if isinstance(end, FaultySender)]
        for end in faulty:
            end.arm()
        return bool(faulty)

    def fault_fired(self) -> bool:
        """Whether it has occurred."""
        return any(end.fired for end in self.ends.values() if isinstance(end, FaultySender))

    def close(self) -> None:
        """Send what the other rank still has to receive, and end."""
        self._connections.close()
        self._job.dismiss(self._watch)
