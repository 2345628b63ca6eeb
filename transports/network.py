# SPDX-License-Identifier: Apache-2.0
"""Which network carries what ranks cannot share memory for: NET/IB where every rank has it, else NET/Socket, and why.

NCCL's function: `ncclNetInit`, which takes the first plugin that finds devices; here all ranks take one network.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from railgauge.topo.errors import UnavailableError
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.process import live_process
from railgauge.topo.nccl.settings.gid import check_gid_settings
from railgauge.topo.nccl.settings.hca import plugin_off
from railgauge.topo.nccl.settings.ib_connection import read_ib_connection
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.ib.device import Found, IbDevice, find_devices
from railgauge.transports.ib.route import why_unreached
from railgauge.transports.interface import bootstrap_interface
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_IB, NET_SOCKET, sharing_memory

FIRST = 0
"""Of the interfaces that sockets use, where no plan names one."""


class Nic(NamedTuple):
    """What other ranks know of a NIC: its number, the queue pairs that it wants for a connection, and where it is."""

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
    """None with NET/IB, and where nothing needs a network."""
    devices: tuple[IbDevice, ...] = ()
    """This rank's NICs of NET/IB."""
    nics: tuple[tuple[Nic, ...], ...] = ()
    """By the number in the job, all ranks' NICs of NET/IB."""

    def nic(self, rank: int, number: int) -> Nic:
        """A rank's NIC of that number; its first one where there is none, as where no plan names one."""
        return next((nic for nic in self.nics[rank] if nic.number == number), self.nics[rank][0])

    def devices_of(self, ranks: tuple[int, int], planned: tuple[int, int]) -> tuple[int, int]:
        """Devices that two ranks have, for those that a plan names."""
        if not self.nics:
            return planned
        return self.nic(ranks[0], planned[0]).number, self.nic(ranks[1], planned[1]).number

    def on_rail(self, source: int, number: int, target: int) -> tuple[int, int]:
        """The devices that a step leaves and enters by where no plan names them: the source's NIC of that number, and
        the target's of the same place, its first one where it has fewer. Rails may be networks that do not meet.
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
    """Agree on a network; all ranks call it together. Rank 0 says when NET/IB is left although there are devices.

    Ranks that all share memory need none, and look for none unless `always`.

    Raises:
        UnavailableError: NCCL_NET=IB, and a rank cannot use it. UsageError: an NCCL_IB_* setting is none.
        RunError: a rank was lost meanwhile.
    """
    environ = os.environ if environ is None else environ
    if len(sharing_memory(peers)) == 1 and not always:
        return SOCKETS
    found = find_devices(LiveReader("/", {"process": live_process}), environ)
    if found.expected:
        check_gid_settings(environ)
    settings = read_ib_connection(environ) if found.devices else None
    nics = [_nic(one, settings.queue_pairs) for one in found.devices if settings]
    told = bootstrap.all_gather([found.why_not, found.expected, nics, "; ".join(found.remarks)])
    why_not, remark = _first(peers, [each[0] for each in told]), _first(peers, [each[3] for each in told])
    if why_not is None:
        unreached = _unreached(found.devices, [[Nic(*nic) for nic in each[2]] for each in told])
        why_not = _first(peers, bootstrap.all_gather(unreached))
    _log(found, why_not, environ, log)
    if why_not is None:
        if bootstrap.rank == 0 and remark:
            print(f"railgauge: {remark}", file=sys.stderr)
        every = tuple(tuple(Nic(*nic) for nic in each[2]) for each in told)
        return Network(name=NET_IB, devices=found.devices, nics=every)
    if environ.get("NCCL_NET", "").lower() == "ib":
        raise UnavailableError(f"NCCL_NET=IB, but {why_not}")
    if bootstrap.rank == 0 and _is_unexpected(told):
        print(f"railgauge: over {NET_SOCKET}, not {NET_IB}: {why_not}", file=sys.stderr)
    return Network(why_not_ib=why_not)


def _first(peers: Sequence[Peer], whys: Sequence[str | None]) -> str | None:
    """The first rank's reason."""
    return next((f"rank {peer.rank} on {peer.host}: {why}" for peer, why in zip(peers, whys, strict=True) if why), None)


def _nic(device: IbDevice, queue_pairs: int) -> Nic:
    addresses, layers = [port.address for port in device.ports], [port.link_layer for port in device.ports]
    return Nic(device.number, len(device.ports), queue_pairs, device.where, addresses, layers)


def _unreached(devices: Sequence[IbDevice], everybody: Sequence[Sequence[Nic]]) -> str | None:
    """A port of this rank's that has no way to one on its rail, and why."""
    for place, device in enumerate(devices):
        same_rail = [nics[place] for nics in everybody if place < len(nics)]
        for number, port in enumerate(device.ports):
            others = [nic for nic in same_rail if number < nic.ports]
            for nic in others:
                if (layer := nic.link_layers[number]) != port.link_layer:
                    kinds = f"{port.device}:{port.number} is {port.link_layer}, {nic.where} of its rail {layer}"
                    return f"{kinds}: NCCL_IB_HCA can leave out those that others have not"
            if why := why_unreached(port, sorted({nic.addresses[number] for nic in others})):
                return why
    return None


def _is_unexpected(told: Sequence[Sequence[Any]]) -> bool:
    """Whether some rank has NICs, or would have but for what is wrong with them."""
    return any(expected or nics for _, expected, nics, _ in told)


def _log(found: Found, why_not: str | None, environ: Mapping[str, str], log: NcclLog) -> None:
    """As `ncclIbInitDevices` and `ncclNetInit` do; a NIC that is merged stands for its ports."""
    for remark in found.remarks:
        log.info("NET", remark)
    if found.devices:
        named = " ".join(f"[{one.number}]{one}" for one in found.devices)
        ordering = " [RO]" if read_ib_connection(environ).relaxed_ordering else ""
        log.info("INIT", f"{NET_IB} : Using {named}{ordering}; OOB {bootstrap_interface(environ)}", also="NET")
    elif not plugin_off(environ):
        log.info("INIT", f"{NET_IB} : No device found.", also="NET")
    if why_not:
        log.info("INIT", f"{NET_IB} : not used: {why_not}", also="NET")
    log.info("INIT", f"Using network {'Socket' if why_not else 'IB'}", also="NET")
