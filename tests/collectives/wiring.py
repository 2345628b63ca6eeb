# SPDX-License-Identifier: Apache-2.0
"""The transports that collectives are tested over: all steps of all rings over one of them, or mixed."""

import pytest

from railgauge.collectives.communicator import Communicator
from railgauge.topo.nccl.settings.algorithm import Algorithm
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import Peer, this_peer
from railgauge.transports.peers import exchange
from railgauge.transports.wire import Nets

TRANSPORTS = ["SHM", "NET/Socket"]
over_each_transport = pytest.mark.parametrize("transport", TRANSPORTS)


def nets(transport: str, rings: list[list[int]]) -> list[list[Nets]]:
    """How each step goes; "mixed": every second one over a socket."""
    wanted = {"SHM": (None, None), "NET/Socket": ([0, 0], [0, 0]), "mixed": (None, [0, 0])}[transport]
    return [[wanted[place % 2] for place in range(len(ring))] for ring in rings]


def everybody(bootstrap: Bootstrap) -> list[Peer]:
    """All ranks, as they tell of themselves."""
    return exchange(bootstrap, this_peer(bootstrap.rank))


def over_rings(bootstrap: Bootstrap, rings: list[list[int]], transport: str = "SHM", **others) -> Communicator:
    """A communicator that runs over rings whatever it can, all steps over one transport."""
    return Communicator(bootstrap, everybody(bootstrap), rings, nets(transport, rings), only=Algorithm.RING, **others)


def ends_of(comm: Communicator, channel: int):
    """This rank's two ends of a ring: of what it sends, and of what it receives."""
    ends = [end for wire, end in comm.ends.items() if wire.channel == channel]
    return sorted(ends, key=lambda end: not hasattr(end, "arm") and "Receiver" in type(end).__name__)
