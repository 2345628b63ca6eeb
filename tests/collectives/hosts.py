# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: ranks that are told other host ids share no memory, and meet over loopback."""

from dataclasses import replace

from tests.collectives.wiring import everybody

from railgauge.collectives.communicator import Communicator
from railgauge.topo.nccl.settings.algorithm import Algorithm
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import Peer
from railgauge.transports.select import why_not_shm


def on_hosts(bootstrap: Bootstrap, hosts: list[list[int]]) -> list[Peer]:
    """All ranks, as if these were on one host each."""
    of = {rank: f"host-{number}" for number, ranks in enumerate(hosts) for rank in ranks}
    return [replace(peer, host_id=of[peer.rank]) for peer in everybody(bootstrap)]


def over_hosts(bootstrap: Bootstrap, hosts: list[list[int]], only: Algorithm | None = None, **others) -> Communicator:
    """A communicator with one ring, host by host, whose steps between hosts go over the first interface."""
    peers = on_hosts(bootstrap, hosts)
    ring = [rank for ranks in hosts for rank in ranks]
    following = [*ring[1:], ring[0]]
    nets = [None if why_not_shm(peers[a], peers[b]) is None else [0, 0] for a, b in zip(ring, following, strict=True)]
    return Communicator(bootstrap, peers, [ring], [nets], only=only, **others)
