# SPDX-License-Identifier: Apache-2.0
"""Which network connects ranks that cannot share memory: NET/IB if every rank has it, else NET/Socket, and why.

NCCL's function: `ncclNetInit`, which uses the first plugin that finds devices; here all ranks use one network.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_SOCKET, sharing_memory

if TYPE_CHECKING:
    from railgauge.transports.ib.device import IbDevice

FIRST = 0
"""Of the interfaces that sockets use, where no plan names one."""


class PeerNic(NamedTuple):
    """What other ranks know about a NIC: its number, how many queue pairs it wants for a connection, and its
    location.
    """

    number: int
    ports: int
    queue_pairs: int
    """Of each port."""
    where: str
    addresses: list[str]
    """Of each port."""
    link_layers: list[str]
    """Of each port: InfiniBand, Ethernet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network of a job, as one of its ranks sees it."""

    name: str = NET_SOCKET
    why_not_ib: str | None = None
    """None with NET/IB, and when no network is needed."""
    devices: "tuple[IbDevice, ...]" = ()
    """This rank's NICs of NET/IB."""
    nics: tuple[tuple[PeerNic, ...], ...] = ()
    """By the number in the job, all ranks' NICs of NET/IB."""

    def nic(self, rank: int, number: int) -> PeerNic:
        """A rank's NIC of that number; its first one if that does not exist, as when no plan names one."""
        return next((nic for nic in self.nics[rank] if nic.number == number), self.nics[rank][0])

    def devices_of(self, ranks: tuple[int, int], planned: tuple[int, int]) -> tuple[int, int]:
        """Devices that two ranks have, for those that a plan names."""
        if not self.nics:
            return planned
        return self.nic(ranks[0], planned[0]).number, self.nic(ranks[1], planned[1]).number

    def on_rail(self, source: int, number: int, target: int) -> tuple[int, int]:
        """The devices that a step leaves and enters by where no plan names them: the source's NIC of that number, and
        the target's at the same position, or its first one if it has fewer. Rails may be separate networks.
        """
        if not self.nics:
            return FIRST, FIRST
        own, there = self.nics[source], self.nics[target]
        place = own.index(self.nic(source, number))
        return own[place].number, there[place if place < len(there) else 0].number


SOCKETS = Network()


def choose_network(
    bootstrap: Bootstrap,
    peers: Sequence[Peer],
    log: NcclLog,
    environ: Mapping[str, str] | None = None,
    *,
    always: bool = False,
) -> Network:
    """Agree on a network; all ranks call it together. Rank 0 reports when NET/IB is not used although there are
    devices.

    Ranks that all share memory need none, and look for none unless `always`.

    Raises:
        UnavailableError: NCCL_NET=IB, and a rank cannot use it. UsageError: an NCCL_IB_* setting is invalid.
        RunError: a rank was lost meanwhile.
    """
    environ = os.environ if environ is None else environ
    if len(sharing_memory(peers)) == 1 and not always:
        return SOCKETS
    from railgauge.transports.ib.agreement import agree

    return agree(bootstrap, peers, log, environ)
