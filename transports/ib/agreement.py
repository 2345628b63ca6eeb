# SPDX-License-Identifier: Apache-2.0
"""Whether the ranks of a job use NET/IB: every rank has devices, and each reaches those of its rail."""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
from railgauge.transports.network import Network, PeerNic
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_IB, NET_SOCKET


class Offer(NamedTuple):
    """What a rank has for NET/IB."""

    why_not: str | None
    """What is missing; None where nothing is."""
    expected: bool
    """Whether it has NICs, or would have but for what is wrong with them."""
    nics: list[PeerNic]
    remarks: str
    """On settings that name nothing."""


def agree(bootstrap: Bootstrap, peers: Sequence[Peer], log: NcclLog, environ: Mapping[str, str]) -> Network:
    """Look for devices and agree with all ranks; see `choose_network`."""
    found = find_devices(LiveReader("/", {"process": live_process}), environ)
    if found.expected:
        check_gid_settings(environ)
    settings = read_ib_connection(environ) if found.devices else None
    nics = [_nic(one, settings.queue_pairs) for one in found.devices if settings]
    told = bootstrap.all_gather(Offer(found.why_not, found.expected, nics, "; ".join(found.remarks)), Offer)
    for rank, each in enumerate(told):
        if not _is_whole(each):
            raise bootstrap.junk(rank)
    why_not, remark = _first(peers, [each.why_not for each in told]), _first(peers, [each.remarks for each in told])
    if why_not is None:
        unreached = _unreached(found.devices, [each.nics for each in told])
        why_not = _first(peers, bootstrap.all_gather(unreached, str | None))
    _log(found, why_not, environ, log)
    if why_not is None:
        if bootstrap.rank == 0 and remark:
            print(f"railgauge: {remark}", file=sys.stderr)
        return Network(name=NET_IB, devices=found.devices, nics=tuple(tuple(each.nics) for each in told))
    if environ.get("NCCL_NET", "").lower() == "ib":
        raise UnavailableError(f"NCCL_NET=IB, but {why_not}")
    if bootstrap.rank == 0 and any(each.expected or each.nics for each in told):
        print(f"railgauge: over {NET_SOCKET}, not {NET_IB}: {why_not}", file=sys.stderr)
    return Network(why_not_ib=why_not)


def _is_whole(told: Offer) -> bool:
    """Whether it contradicts itself nowhere."""
    ports = all(len(nic.addresses) == len(nic.link_layers) == nic.ports for nic in told.nics)
    return ports and (told.why_not is not None or len(told.nics) > 0)


def _first(peers: Sequence[Peer], whys: Sequence[str | None]) -> str | None:
    """The first rank's reason."""
    return next((f"rank {peer.rank} on {peer.host}: {why}" for peer, why in zip(peers, whys, strict=True) if why), None)


def _nic(device: IbDevice, queue_pairs: int) -> PeerNic:
    addresses, layers = [port.address for port in device.ports], [port.link_layer for port in device.ports]
    return PeerNic(device.number, len(device.ports), queue_pairs, device.where, addresses, layers)


def _unreached(devices: Sequence[IbDevice], everybody: Sequence[Sequence[PeerNic]]) -> str | None:
    """A port of this rank's that has no route to one on its rail, and why."""
    for place, device in enumerate(devices):
        same_rail = [nics[place] for nics in everybody if place < len(nics)]
        for number, port in enumerate(device.ports):
            others = [nic for nic in same_rail if number < nic.ports]
            for nic in others:
                if (layer := nic.link_layers[number]) != port.link_layer:
                    kinds = f"{port.device}:{port.number} is {port.link_layer}, {nic.where} of its rail {layer}"
                    return f"{kinds}: exclude ports that other ranks lack with NCCL_IB_HCA"
            if why := why_unreached(port, sorted({nic.addresses[number] for nic in others})):
                return why
    return None


def _log(found: Found, why_not: str | None, environ: Mapping[str, str], log: NcclLog) -> None:
    """As `ncclIbInitDevices` and `ncclNetInit` do; a merged NIC represents its ports."""
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
