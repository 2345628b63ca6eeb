# SPDX-License-Identifier: Apache-2.0
"""What a log shows of the network between nodes: sockets instead of RDMA, GPUDirect RDMA, ports and their kinds."""

import re
from collections import Counter
from collections.abc import Iterator

from railgauge.topo.findings.cards.comparison import NODES_DIFFER
from railgauge.topo.findings.cards.gdr import PEERMEM_MISSING
from railgauge.topo.findings.cards.gpus import GPU_NIC_FAR
from railgauge.topo.findings.cards.parts import LINK_LAYERS_MIXED
from railgauge.topo.findings.cards.plugins import EFA_PROVIDER_MISSING, EFA_WITHOUT_GDR
from railgauge.topo.findings.cards.rdma import IB_HCA_NOMATCH, IB_HCA_PREFIX, VERBS_DEVICE_MISSING
from railgauge.topo.findings.cards.rdma_ports import GID_INDEX_INVALID
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.connections import BY_TCP, GDR, LoggedTraffic
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.words import named, numbers
from railgauge.topo.nccl.settings.hca import Port, matched, parse_hca

ENDS = {"send": "sending", "receive": "receiving"}
LIBFABRIC = re.compile(r"(?i)libfabric|OFI|EFA")
PORT = re.compile(r"(?:^|\+)([\w.-]+)(?::(\d{1,3}))?(?:/(IB|RoCE))?")
"""A port of a device, or of each that is merged into it: mlx5_0+mlx5_1:1/RoCE."""
KNOWS_PEERMEM = 2, 23
"""The first release that looks for nvidia_peermem where today's drivers put it: /sys/module/nvidia_peermem."""
REFUSED = re.compile(r"ibv_modify_qp failed.*(?:Invalid argument|\b22\b)")


def sockets(log: Log, rdma: str) -> Iterator[Finding]:
    """Sockets where RDMA was to be expected."""
    plugin = {name for names in log.networks.values() for name in names} - {"Socket"}
    if rdma not in ("no", "partly") or turned_off(log) or (rdma == "no" and plugin):
        return  # that of a cloud without RDMA, over TCP, is meant
    devices = {host for host, found in log.devices.items() if "IB" in found}
    level = Level.WARN if log.on_several_nodes else Level.INFO
    if rdma == "partly":
        message = "some connections or nodes use sockets while others use RDMA"
        yield NODES_DIFFER.finding(Level.WARN, "network", message)
    elif devices:
        message = f"RDMA devices are found on {named(devices)}, but sockets are used"
        yield NODES_DIFFER.finding(level, "network", message)
    else:
        why = f"no RDMA device is found on {named(log.without_rdma)}" if log.without_rdma else "no RDMA device is used"
        several = f"inter-node data uses TCP sockets: {why}"
        message = several if log.on_several_nodes else f"{why}: it matters only if the job has other nodes"
        evidence = {"hosts": sorted(log.without_rdma)}
        yield VERBS_DEVICE_MISSING.finding(level, named(log.without_rdma), message, evidence=evidence)


def plugins(log: Log) -> Iterator[Finding]:
    """Hosts that load a network plugin beside others that find none: both ends of a connection must have the same."""
    have = {host: found - {""} for host, found in log.plugins.items() if found - {""}}
    none = log.plugins.keys() - have
    if have and none and "" not in none:
        names = ", ".join(sorted(set().union(*have.values()))[:4])
        message = (
            f"network plugins differ: {named(have)} loads {names}, {named(none)} finds none and uses NCCL's own "
            "network: such ends do not connect, or hang"
        )
        yield NODES_DIFFER.finding(Level.WARN, "plugin", message)


def turned_off(log: Log) -> bool:
    """Whether a setting turned RDMA off: no device is missing then."""
    return bool(log.settings.get("NCCL_IB_DISABLE", {}).keys() - {"0"}) or any(
        value.lower() == "socket" for value in log.settings.get("NCCL_NET", {})
    )


def gpu_direct(log: Log, network: Counter[LoggedTraffic]) -> Iterator[Finding]:
    """Connections without GPUDirect RDMA."""
    if log.on_one_node:
        return
    over = {one for one in network if not one.via.startswith(BY_TCP)}
    without = {one for one in over if GDR not in one.via}
    disabled = {host for (host, _), on in log.hca_gdr.items() if not on}
    if disabled or (without and len(without) == len(over)):
        hosts = disabled or {one.host for one in without}
        said = "NCCL says that it is disabled" if disabled else "no connection has it"
        yield _without_gdr(log, without, hosts, said, Level.FAIL if disabled else Level.WARN)
    elif without:
        yield _asymmetric(over, without)


def _without_gdr(log: Log, without: set[LoggedTraffic], hosts: set[str], said: str, level: Level) -> Finding:
    effect = "data between nodes is staged through host memory"
    message = f"GPUDirect RDMA is not used on {named(hosts)}: {said}"
    evidence: dict[str, object] = {"hosts": sorted(hosts)}
    if by_libfabric(log, without):
        message += "; through libfabric the plugin and EFA's driver decide it, and no module has to be loaded"
        return EFA_WITHOUT_GDR.finding(Level.WARN, named(hosts), message, effect=effect, evidence=evidence)
    old = [release for release in log.releases if release.startswith("NCCL") and numbers(release) < (*KNOWS_PEERMEM, 0)]
    if old:
        message += (
            f"; {', '.join(sorted(old))} does not know where newer drivers put nvidia_peermem (since 2.23: "
            "/sys/module/nvidia_peermem): if lsmod lists the module, update NCCL"
        )
        evidence["too_old"] = sorted(old)
    return PEERMEM_MISSING.finding(level, named(hosts), message, effect=effect, evidence=evidence)


def by_libfabric(log: Log, traffic: set[LoggedTraffic]) -> bool:
    """Whether the network is libfabric's, by connections, by what was chosen, or by its errors."""
    names = {one.via for one in traffic} or set().union(*log.networks.values())
    failed = any(seen.entry.card is EFA_PROVIDER_MISSING for seen in log.sightings.values())
    return failed or any(LIBFABRIC.search(name) for name in names)


def _asymmetric(over: set[LoggedTraffic], without: set[LoggedTraffic]) -> Finding:
    """Some connections have it: what those without it have in common says why."""
    effect = "those without it are staged through host memory, and slow down their rings"
    for card, said, part in (
        (PEERMEM_MISSING, "on {}", lambda one: one.host),
        (GPU_NIC_FAR, "through NIC {}", lambda one: one.via.split("/")[2].split("(")[0]),
        (GPU_NIC_FAR, "when {}", lambda one: ENDS.get(one.end, "")),
    ):
        off = {part(one) for one in without}
        if off and "" not in off and not off & {part(one) for one in over - without}:
            where = said.format(", ".join(sorted(off)))
            message = f"GPUDirect RDMA is asymmetric: it is not used {where}, but is used elsewhere"
            return card.finding(Level.WARN, where, message, effect=effect)
    message = f"GPUDirect RDMA is asymmetric: {len(without)} of {len(over)} kinds of connections lack it"
    return GPU_NIC_FAR.finding(Level.WARN, "GPUDirect RDMA", message, effect=effect)


def ports(log: Log) -> Iterator[Finding]:
    """Ports of two kinds, GIDs that reach no other network, and NCCL_IB_HCA against the devices that were used."""
    yield from _link_layers(log)
    for host, indices in sorted(log.link_local.items()):
        by_hand = "NCCL_IB_GID_INDEX" in log.settings
        why = ", as NCCL_IB_GID_INDEX says" if by_hand else ""
        index = ", ".join(map(str, sorted(indices)))
        message = (
            f"RoCE connections on {named([host])} use GID {index}{why}: it is link-local (fe80::), which no router "
            f"passes"
        )
        yield GID_INDEX_INVALID.finding(Level.WARN, named([host]), message, evidence={"gid_indices": sorted(indices)})
    for value, hosts in log.settings.get("NCCL_IB_HCA", {}).items():
        for host in sorted(hosts):
            yield from _hca(log, value, host)


def _link_layers(log: Log) -> Iterator[Finding]:
    refused = any(REFUSED.search(seen.text) for seen in log.sightings.values())
    for host, networks in sorted(log.devices.items()):
        kinds = [
            (found[3], f"NET/IB/{place} {found[1]}")
            for place, one in enumerate(networks.get("IB", ()))
            for found in PORT.finditer(one)
        ]
        mixed = {kind for kind, _ in kinds if kind}
        if len(mixed) > 1:
            fewest = min(sorted(mixed, reverse=True), key=lambda kind: sum(one == kind for one, _ in kinds))
            odd = ", ".join(name for kind, name in kinds if kind == fewest)
            message = (
                f"{named([host])} uses InfiniBand and RoCE ports together ({fewest}: {odd}): one that meets a port "
                f"of the other kind cannot connect"
            )
            message += "; ibv_modify_qp failed with Invalid argument, as it does then" if refused else ""
            yield LINK_LAYERS_MIXED.finding(Level.FAIL if refused else Level.WARN, named([host]), message)


def _hca(log: Log, value: str, host: str) -> Iterator[Finding]:
    """The setting against the devices of a host."""
    hca = parse_hca(value)
    used: list[Port] = [
        (found[1], int(found[2] or 1))
        for one in log.devices.get(host, {}).get("IB", ())
        for found in PORT.finditer(one)
    ]
    subject = f"NCCL_IB_HCA on {host}" if host else "NCCL_IB_HCA"
    if not used:
        if host in log.without_rdma and not turned_off(log):
            message = (
                f"NCCL_IB_HCA={value}, and NCCL finds no RDMA device: it names none that is there, or there is none"
            )
            yield IB_HCA_NOMATCH.finding(Level.FAIL, subject, message)
        return
    found = matched(hca, used)
    none = [entry.text for entry, ports_of_entry in found if not ports_of_entry]
    if none and not hca.exclude:
        message = f"NCCL_IB_HCA={value}: {', '.join(none)} names no port that NCCL uses ({_listed(used)})"
        yield IB_HCA_NOMATCH.finding(Level.WARN, subject, message)
    wrong = [port for port in used if not hca.takes(*port)]
    if wrong:
        message = f"NCCL_IB_HCA={value}, but NCCL uses {_listed(wrong)}: another process or plugin has another value"
        yield IB_HCA_NOMATCH.finding(Level.WARN, subject, message)
    for entry, named_ports in found:
        if len({name for name, _ in named_ports}) > 1 and (entry.prefix, entry.port or 1) in named_ports:
            message = f"NCCL_IB_HCA={value}: {entry.text} is a prefix and names {_listed(named_ports)}"
            yield IB_HCA_PREFIX.finding(Level.WARN, subject, message)


def _listed(ports_named: list[Port] | tuple[Port, ...]) -> str:
    return " ".join(f"{name}:{number}" for name, number in ports_named)
