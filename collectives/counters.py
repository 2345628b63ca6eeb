# SPDX-License-Identifier: Apache-2.0
"""Counters as proof: the link traffic of all hosts while ranks moved data, beside what they sent over each link.

The first rank of each network namespace reads its counters; "planned" is what the connections themselves have moved.
"""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from railgauge.topo.facts.live_reader import live_reader
from railgauge.topo.facts.sources.gpu_counters import TIMEOUT_S
from railgauge.topo.facts.sources.link_counters import ByteDirection, LinkCounters
from railgauge.topo.findings.traffic.account import MEMORY, account
from railgauge.topo.findings.traffic.counted import Planned
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic
from railgauge.topo.findings.traffic.read import read_counters
from railgauge.transports.connect import End
from railgauge.transports.group import Group
from railgauge.transports.interface import usable_interfaces
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.peer import Peer, network_id
from railgauge.transports.select import sharing_memory
from railgauge.transports.wire import Wire

SETTLED_S = 2.5
"""Drivers that read their device's counters do so every second or two (bnxt_en, tg3, mlx5 representors)."""
AGAIN_S = 0.25
READ_WITHIN_S = 2 * TIMEOUT_S + SETTLED_S
"""How much longer the others wait for those that read, in seconds."""


class Counters:
    """The counters of all hosts before ranks move data. All ranks of a group make it together."""

    def __init__(self, group: Group, peers: Sequence[Peer], network: Network = SOCKETS) -> None:
        """Read them; no rank continues before all are read."""
        self._group = group
        self._ports = {one.number: [f"{port.device}:{port.number}" for port in one.ports] for one in network.devices}
        self._host = peers[group.rank].host
        self._network = (self._host, network_id())
        self._networks = group.all_gather(self._network, tuple[str, str])
        self._reads = self._networks.index(self._network) == group.rank
        several = len(sharing_memory(peers)) > 1
        self._interfaces = [one.name for one in usable_interfaces(os.environ)] if several else []
        self._before = _read() if self._reads else ()
        group.all_gather_bytes(b"", group.job.timeout_s + READ_WITHIN_S)

    def link_traffic(self, ends: Mapping[Wire, End], shown: int = 0) -> list[LinkTraffic]:
        """Read them again, once all ranks have moved their data, and compare; all ranks call it together.

        Args:
            ends: this rank's connections, which had moved nothing when the counters were first read.
            shown: how many bytes it has put into its shared segment.

        Returns:
            Those of all hosts, in the order of their first ranks; the same on all ranks.

        Raises:
            RunError: a rank was lost meanwhile.
        """
        planned = self._planned(ends)
        planned[MEMORY, ByteDirection.SENT] += shown
        told = self._group.all_gather(
            [(*place, size) for place, size in planned.items()], list[tuple[str, ByteDirection, int]]
        )
        found: list[LinkTraffic] = []
        if self._reads:
            here: Counter[tuple[str, ByteDirection]] = Counter()
            for network, sizes in zip(self._networks, told, strict=True):
                if network == self._network:
                    here.update({(link, way): size for link, way, size in sizes})
            found = self._settled(here)
        limit_s = self._group.job.timeout_s + READ_WITHIN_S
        return [one for each in self._group.all_gather(found, list[LinkTraffic], limit_s) for one in each]

    def _planned(self, ends: Mapping[Wire, End]) -> Counter[tuple[str, ByteDirection]]:
        """What this rank has moved over each link; traffic through shared memory counts at the sender."""
        planned: Counter[tuple[str, ByteDirection]] = Counter()
        for wire, end in ends.items():
            way = ByteDirection.SENT if wire.source == self._group.world_rank else ByteDirection.RECEIVED
            if wire.devices:
                links = self._links(wire.devices[way is ByteDirection.RECEIVED])
                planned.update({(link, way): end.bytes // len(links) for link in links})
            elif way is ByteDirection.SENT:
                planned[MEMORY, way] += end.bytes
        return planned

    def _links(self, device: int) -> list[str]:
        """The ports of a NIC of NET/IB, which share its traffic; the interface of NET/Socket."""
        return self._ports.get(device) or [self._interfaces[device]]

    def _settled(self, planned: Planned) -> list[LinkTraffic]:
        """Compare, and where something is missing repeat until delayed counters are up to date."""
        deadline = time.monotonic() + SETTLED_S
        while True:
            found = account(planned, self._before, _read(), self._host)
            late = any(one.seen_bytes is not None and one.seen_bytes < one.planned_bytes for one in found)
            if not late or time.monotonic() > deadline:
                return found
            time.sleep(AGAIN_S)


def _read() -> tuple[LinkCounters, ...]:
    return read_counters(live_reader())
