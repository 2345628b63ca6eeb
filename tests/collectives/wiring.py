# SPDX-License-Identifier: Apache-2.0
"""The transports that collectives are tested over: all steps of all rings over one of them, or mixed."""

import pytest

from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.connect import Nets
from railgauge.transports.peer import Peer, this_peer
from railgauge.transports.peers import exchange

TRANSPORTS = ["SHM", "NET/Socket"]
over_each_transport = pytest.mark.parametrize("transport", TRANSPORTS)


def nets(transport: str, rings: list[list[int]]) -> list[list[Nets]]:
    """How each step goes; "mixed": every second one over a socket."""
    wanted = {"SHM": (None, None), "NET/Socket": ([0, 0], [0, 0]), "mixed": (None, [0, 0])}[transport]
    return [[wanted[place % 2] for place in range(len(ring))] for ring in rings]


def everybody(bootstrap: Bootstrap) -> list[Peer]:
    """All ranks, as they tell of themselves."""
    return exchange(bootstrap, this_peer(bootstrap.rank))
