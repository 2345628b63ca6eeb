# SPDX-License-Identifier: Apache-2.0
"""How long a rank polls for the others before it sleeps."""

from collections.abc import Sequence

from railgauge.transports.peer import Peer

SPIN_S = 2e-3
"""When every rank has a core of its own: longer than one turn of a large ring. A sleeping rank makes its neighbours
wait longer, so that they sleep too: 32 ranks on 64 cores took 4.5 ms for 8 bytes with 50 us."""
NET_SPIN_S = 50e-6
"""The same over sockets, where a turn takes longer than waking up."""
CROWDED_SPIN_S = 5e-6
"""The same with more ranks than cores, where polling takes CPU time from the awaited rank."""


def spin_s(own: Peer, everybody: Sequence[Peer], *, sockets: bool) -> float:
    """The time for a rank of a job; `sockets` says whether it has any."""
    here = [peer for peer in everybody if peer.host_id == own.host_id]
    if len(here) > len({cpu for peer in here for cpu in peer.cpus}):
        return CROWDED_SPIN_S
    return NET_SPIN_S if sockets else SPIN_S
