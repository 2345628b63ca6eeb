# SPDX-License-Identifier: Apache-2.0
"""The placement of each rank on its host: its own cores, and their NUMA node."""

import os
from collections.abc import Sequence

from railgauge.collectives.node_machine import dump_path, read_machine
from railgauge.collectives.plan import PLAN_WITHIN_S, node_names, nodes_of
from railgauge.topo.nccl.graph.system import build_system
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import Peer

Placement = tuple[list[int], int | None]
"""The cores (empty if unknown), and the NUMA node (None: unknown)."""


def placements(bootstrap: Bootstrap, peers: Sequence[Peer], save_capture: str | None = None) -> list[Placement]:
    """All ranks' placements, as the first rank of each host plans them; all ranks call it together.

    `save_capture`: the first rank of each host writes what it read of the host to this file.

    Raises:
        InputError: a topology file is damaged. RunError: a rank was lost meanwhile.
    """
    hosts = nodes_of(peers)
    planned: list[Placement] = []
    names = node_names([peers[ranks[0]].host for ranks in hosts])
    for name, ranks in zip(names, hosts, strict=True):
        if ranks[0] == bootstrap.rank:
            path = dump_path(save_capture, name) if save_capture and len(hosts) > 1 else save_capture
            planned = _planned(len(ranks), path)
    told = bootstrap.all_gather(planned, list[Placement], bootstrap.timeout_s + PLAN_WITHIN_S)
    found: dict[int, Placement] = {}
    for ranks in hosts:
        if len(told[ranks[0]]) != len(ranks):
            raise bootstrap.junk(ranks[0])
        found |= zip(ranks, told[ranks[0]], strict=True)
    return [found[rank] for rank in range(len(peers))]


def _planned(ranks: int, save_capture: str | None) -> list[Placement]:
    system = build_system(read_machine(os.environ, save_capture=save_capture).topology, host_ranks=ranks)
    return [(list(rank.cpus), rank.numa if (rank.numa or 0) >= 0 else None) for rank in system.ranks]
