# SPDX-License-Identifier: Apache-2.0
"""The placement of each rank on its host: its own cores, and their NUMA node."""

import os
from collections.abc import Mapping, Sequence

from railgauge.collectives.plan import PLAN_WITHIN_S, nodes_of
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import Peer

Placement = tuple[list[int], int | None]
"""The cores (empty if unknown), and the NUMA node (None: unknown)."""


def placements(bootstrap: Bootstrap, peers: Sequence[Peer], environ: Mapping[str, str] = os.environ) -> list[Placement]:
    """All ranks' placements, as the first rank of each host plans them; all ranks call it together.

    Raises:
        InputError: a topology file is damaged. RunError: a rank was lost meanwhile.
    """
    hosts = nodes_of(peers)
    planned: list[Placement] = []
    for ranks in hosts:
        if ranks[0] == bootstrap.rank:
            planned = _planned(len(ranks), environ)
    told = bootstrap.all_gather(planned, list[Placement], bootstrap.timeout_s + PLAN_WITHIN_S)
    found: dict[int, Placement] = {}
    for ranks in hosts:
        if len(told[ranks[0]]) != len(ranks):
            raise bootstrap.junk(ranks[0])
        found |= zip(ranks, told[ranks[0]], strict=True)
    return [found[rank] for rank in range(len(peers))]


def _planned(ranks: int, environ: Mapping[str, str]) -> list[Placement]:
    system = build_system(load_machine(environment=environ).topology, host_ranks=ranks)
    return [(list(rank.cpus), rank.numa if (rank.numa or 0) >= 0 else None) for rank in system.ranks]
