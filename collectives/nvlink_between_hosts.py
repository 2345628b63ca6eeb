# SPDX-License-Identifier: Apache-2.0
"""NVLink between hosts (MNNVL): which ranks of several hosts map each other's memory, and why others do not.

Those in one domain (`Plan.domains`), unless settings forbid it, where each could import memory of the other's GPU by
way of trial: the driver alone knows whether the processes have an IMEX channel, and their hosts' IMEX services a
connection. NCCL tries it within each process (`ncclMnnvlCheck` of src/mnnvl.cc).
"""

from collections.abc import Sequence

from railgauge._native import collectives as native
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.settings.levels import BY_NAME, read_levels
from railgauge.topo.nccl.settings.mnnvl import OFF, read_mnnvl
from railgauge.transports.group import Group
from railgauge.transports.peer import Peer
from railgauge.transports.typed import listed

SETTING = "NCCL_MNNVL_ENABLE"
ITSELF = BY_NAME[0]
"""The level of NCCL_P2P_LEVEL at which there is no P2P."""


class NvlinkBetweenHosts:
    """What is known of a group's ranks, on all of them the same."""

    def __init__(
        self, group: Group, peers: Sequence[Peer], domains: Sequence[str], device: int, not_exportable: str
    ) -> None:
        """Find it out, all ranks together. `device`: CUDA's number of this rank's GPU; `not_exportable`: why no memory
        of it can be exported.

        Raises:
            RunError: a rank was lost meanwhile.
        """
        self._rank, self._peers, self._domains = group.rank, peers, domains
        self._alone = [_why_alone(peer, domain) for peer, domain in zip(peers, domains, strict=True)]
        self._refused = [[""] * len(peers)] * len(peers)
        hosts: dict[str, set[str]] = {}
        for peer, domain, alone in zip(peers, domains, self._alone, strict=True):
            if not alone:
                hosts.setdefault(domain, set()).add(peer.host_id)
        self.is_tried = any(len(found) > 1 for found in hosts.values())
        """Whether any ranks may be connected."""
        if self.is_tried:
            self._refused = self._tried(group, device, not_exportable)

    def why_not(self, a: int, b: int) -> str:
        """Why two ranks of different hosts do not map each other's memory; empty: they do."""
        return self._alone[a] or self._alone[b] or self._apart(a, b) or self._refused[a][b] or self._refused[b][a]

    def remark(self, other: int) -> str:
        """The same of this rank and one of another host, if somebody may have expected otherwise: a GPU is in a domain,
        or NCCL_MNNVL_ENABLE is set.
        """
        expected = self._domains[self._rank] or self._domains[other] or SETTING in self._peers[self._rank].settings
        return self.why_not(self._rank, other) if expected else ""

    def _apart(self, a: int, b: int) -> str:
        if self._domains[a] == self._domains[b]:
            return ""
        one, other = (f"rank {self._peers[rank].rank} is in NVLink domain {self._domains[rank]}" for rank in (a, b))
        return f"{one}, {other}"

    def _tried(self, group: Group, device: int, not_exportable: str) -> list[list[str]]:
        """By rank and rank of another host in its domain, why the former cannot import the latter's memory."""
        trial, why_not = None, self._alone[group.rank] or not_exportable
        try:
            trial = None if why_not else native.FabricTrial(device)
        except UnavailableError as error:
            why_not = str(error)
        lent: list[tuple[str, bytes]] = group.all_gather([why_not, trial.handle if trial else b""], tuple[str, bytes])
        found = [""] * len(lent)
        for other, (their_why_not, handle) in enumerate(lent):
            if self._peers[other].host_id == self._peers[group.rank].host_id or self._apart(group.rank, other):
                continue
            if their_why_not:
                found[other] = f"rank {self._peers[other].rank}: {their_why_not}"
            elif trial is None:
                found[other] = f"rank {self._peers[group.rank].rank}: {why_not}"
            elif refused := trial.why_not(handle):
                found[other] = f"rank {self._peers[group.rank].rank}: {refused}"
        all_found: list[list[str]] = group.all_gather(found, listed(*[str] * len(lent)))
        return all_found


def _why_alone(peer: Peer, domain: str) -> str:
    """Why NVLink connects a rank with none of another host; empty: nothing known is in the way."""
    if read_mnnvl(peer.settings).mode == OFF:
        return f"{SETTING}=0"
    limit = read_levels(peer.settings).p2p
    if limit and limit.type == ITSELF:
        return f"rank {peer.rank}: {limit.source}"
    return "" if domain else f"the GPU of rank {peer.rank} is in no NVLink domain of several hosts"
