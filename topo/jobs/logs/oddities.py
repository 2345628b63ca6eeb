# SPDX-License-Identifier: Apache-2.0
"""Problems in a log: errors, fallbacks, nodes and ranks that differ from the others; as findings."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from railgauge.topo.findings.card import Card
from railgauge.topo.findings.cards.comparison import NODES_DIFFER
from railgauge.topo.findings.cards.gpus import GPU_NIC_FAR, NUMA_MISBOUND, P2P_UNSUPPORTED
from railgauge.topo.findings.cards.logs import COLLECTIVE_MISMATCH, OTHER_WARNING, RUN_SLOWER
from railgauge.topo.findings.cards.network import SOCKET_IFNAME_VIRTUAL
from railgauge.topo.findings.cards.nvlink import FABRIC_NOT_READY, NVLINK_MISSING
from railgauge.topo.findings.cards.rdma import (
    GID_INDEX_INVALID,
    PEERMEM_MISSING,
    SOFT_RDMA_PRESENT,
    VERBS_DEVICE_MISSING,
)
from railgauge.topo.findings.cards.settings import CONF_FILE_FORGOTTEN
from railgauge.topo.findings.cards.topology_file import PCIE_BRIDGE_BOGUS
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import LEVELS, Finding, Level
from railgauge.topo.jobs.logs.catalogue import other_causes_of
from railgauge.topo.jobs.logs.connections import GDR, LoggedTraffic, transport
from railgauge.topo.jobs.logs.log import Log

SLOWER = 2.0
"""How many times an nccl-tests table may be behind the best one of the same log."""
ENDS = {"send": "sending", "receive": "receiving"}
VIRTUAL = re.compile(r"(?:docker|virbr|veth|cni|flannel|br-|cali|tailscale)\S*|lo")
"""Interfaces that do not reach other nodes."""
UNNAMED = "a rank that is not named"
COLLAPSE = 4
"""How many times the channels of one rank are those of another before it counts, the communicator being unknown."""
SOFT_RDMA = ("rxe", "siw")
FORGOTTEN = {
    "NCCL_IB_DISABLE": "RDMA is turned off",
    "NCCL_P2P_DISABLE": "P2P between GPUs is turned off",
    "NCCL_SHM_DISABLE": "shared memory is turned off",
}
COMPLETED = 3  # NVML's fabric state
HEALTH = ("bandwidth is degraded", "a route is recovering", "a route is unhealthy", "access times out")
"""NVML's fabric health mask: two bits each, of which 1 says yes (nvmlGpuFabricInfo_v2)."""


def oddities(log: Log, network: Counter[LoggedTraffic], rdma: str) -> tuple[Finding, ...]:
    """The findings, the worst first. A look that fails is UNKNOWN under the first id that it could give."""
    looks: tuple[tuple[Card, Callable[[], Iterable[Finding]]], ...] = (
        (OTHER_WARNING, lambda: _errors(log)),
        (VERBS_DEVICE_MISSING, lambda: _sockets(log, rdma)),
        (PEERMEM_MISSING, lambda: _gdr(log, network)),
        (P2P_UNSUPPORTED, lambda: _shared_memory(log)),
        (CONF_FILE_FORGOTTEN, lambda: _settings(log)),
        (SOCKET_IFNAME_VIRTUAL, lambda: _interfaces(log)),
        (NVLINK_MISSING, lambda: _channels(log)),
        (NODES_DIFFER, lambda: _differences(log)),
        (PCIE_BRIDGE_BOGUS, lambda: _machine(log)),
        (COLLECTIVE_MISMATCH, lambda: _outputs(log)),
    )
    found = [finding for card, look in looks for finding in guarded(card.id, "the log", look)]
    return tuple(sorted(found, key=lambda finding: -LEVELS.index(finding.level)))


def _names(hosts: Iterable[str]) -> str:
    """Hosts in a few words."""
    named = sorted(host for host in hosts if host)
    more = f" and {len(named) - 4} more" if len(named) > 4 else ""
    return ", ".join(named[:4]) + more if named else "the log"


def _errors(log: Log) -> Iterator[Finding]:
    for seen in log.sightings.values():
        card, pattern = seen.entry
        times = f"{seen.times} {'line' if seen.times == 1 else 'lines'}"
        evidence: dict[str, Any] = {"line": seen.text, "lines": seen.times, "hosts": sorted(seen.hosts)}
        if others := other_causes_of(seen.entry):
            evidence["other_causes"] = list(others)
        message = f"{pattern.meaning} ({times}: {seen.text})"
        yield card.finding(pattern.level, _names(seen.hosts), message, evidence=evidence)


def _sockets(log: Log, rdma: str) -> Iterator[Finding]:
    if rdma not in ("no", "partly"):
        return
    devices = {host for host, found in log.devices.items() if "IB" in found}
    if rdma == "partly":
        message = "some connections or nodes use sockets while others use RDMA"
        yield NODES_DIFFER.finding(Level.WARN, "network", message)
    elif devices:
        message = f"RDMA devices are found on {_names(devices)}, but sockets are used"
        yield NODES_DIFFER.finding(Level.WARN, "network", message)
    else:
        why = f"no RDMA device is found on {_names(log.without_rdma)}" if log.without_rdma else "no RDMA device is used"
        message = f"inter-node data uses TCP sockets: {why}"
        yield VERBS_DEVICE_MISSING.finding(
            Level.WARN,
            _names(log.without_rdma),
            message,
            evidence={"hosts": sorted(log.without_rdma)},
        )


def _gdr(log: Log, network: Counter[LoggedTraffic]) -> Iterator[Finding]:
    over = {one: times for one, times in network.items() if not one.via.startswith("NET/Socket")}
    without = {one for one in over if GDR not in one.via}
    disabled = {host for (host, _), on in log.hca_gdr.items() if not on}
    if disabled or (without and len(without) == len(over)):
        hosts = disabled or {one.host for one in without}
        said = "NCCL says that it is disabled" if disabled else "no connection has it"
        message = f"GPUDirect RDMA is not used on {_names(hosts)}: {said}"
        effect = "data between nodes is staged through host memory"
        evidence = {"hosts": sorted(hosts)}
        level = Level.FAIL if disabled else Level.WARN
        yield PEERMEM_MISSING.finding(level, _names(hosts), message, effect=effect, evidence=evidence)
    elif without:
        yield _asymmetric(set(over), without)


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


def _shared_memory(log: Log) -> Iterator[Finding]:
    ways = Counter[str]()
    for one, times in log.connections.traffic():
        ways[transport(one.via)] += times
    if ways["SHM"]:
        beside = f", {ways['P2P']} by P2P" if ways["P2P"] else ""
        message = f"{ways['SHM']} connections within nodes go through host memory (SHM){beside}"
        yield P2P_UNSUPPORTED.finding(Level.INFO, "SHM", message)


def _settings(log: Log) -> Iterator[Finding]:
    for name, values in sorted(log.settings.items()):
        if name in FORGOTTEN and "1" in values:
            message = f"{name}=1 on {_names(values['1'])}: {FORGOTTEN[name]}"
            yield CONF_FILE_FORGOTTEN.finding(Level.WARN, name, message)
        if name == "NCCL_IB_GID_INDEX":
            message = f"{name} is set to {', '.join(sorted(values))}: NCCL takes it unchecked"
            yield GID_INDEX_INVALID.finding(Level.INFO, name, message)
        if len(values) > 1:
            parts = "; ".join(f"{value} on {_names(hosts)}" for value, hosts in sorted(values.items())[:4])
            yield NODES_DIFFER.finding(Level.INFO, name, f"{name} differs between nodes: {parts}")


def _interfaces(log: Log) -> Iterator[Finding]:
    if log.on_one_node or len(log.hosts) < 2:
        return
    for host, chosen in sorted(log.bootstraps.items()):
        if VIRTUAL.fullmatch(chosen.split()[0]):
            message = f"{host} uses {chosen} for the bootstrap, an interface that other nodes do not reach"
            yield SOCKET_IFNAME_VIRTUAL.finding(Level.FAIL, host, message)


def _channels(log: Log) -> Iterator[Finding]:
    """Ranks of a communicator with different channel counts: the lowest applies to all."""
    comms: defaultdict[str, dict[tuple[int, int | None], set[str]]] = defaultdict(dict)
    for (comm, host, device), counts in log.channels.items():
        comms[comm].setdefault(counts, set()).add(f"{host}[{device}]" if host else UNNAMED)
    for comm, told in comms.items():
        if len(told) == 1 or (not comm and log.ranks and set.union(*told.values()) != {UNNAMED}):
            continue  # of several communicators, perhaps
        parts = "; ".join(
            f"{coll} channels{'' if nvls is None else f' and {nvls} of NVLS'} on {_names(who)}"
            for (coll, nvls), who in sorted(told.items(), key=lambda item: -item[0][0])
        )
        most, least = max(coll for coll, _ in told), min(coll for coll, _ in told)
        level = Level.WARN if comm or most >= COLLAPSE * least else Level.INFO
        yield NVLINK_MISSING.finding(level, comm or "channels", f"channel counts differ: {parts}")


def _differences(log: Log) -> Iterator[Finding]:
    releases = {release: hosts - {""} for release, hosts in log.releases.items()}
    if len(releases) > 1:
        parts = "; ".join(f"{release} on {_names(hosts)}" for release, hosts in sorted(releases.items()))
        yield NODES_DIFFER.finding(Level.WARN, "release", f"releases differ: {parts}")
    users: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for host, networks in log.devices.items():
        if "IB" in networks:
            users[networks["IB"]].add(host)
    usual = max(users, key=lambda devices: len(users[devices]), default=())
    for devices, hosts in sorted(users.items()):
        if devices != usual:
            level = Level.INFO if len(devices) == len(usual) else Level.WARN
            message = f"{_names(hosts)} uses {' '.join(devices)}, {_names(users[usual])} {' '.join(usual)}"
            yield NODES_DIFFER.finding(level, _names(hosts), f"RDMA devices differ: {message}")


def _machine(log: Log) -> Iterator[Finding]:
    for (host, device), gb_per_s in sorted(log.slow_bridges.items()):
        message = f"the topology on {host} has PCI/{device} at {gb_per_s:g} GB/s: too slow for a real bridge"
        yield PCIE_BRIDGE_BOGUS.finding(Level.FAIL, f"{host} PCI/{device}", message)
    for host, networks in sorted(log.devices.items()):
        soft = [device for device in networks.get("IB", ()) if device.startswith(SOFT_RDMA)]
        if soft:
            message = f"{host} uses software RDMA: {' '.join(soft)}"
            yield SOFT_RDMA_PRESENT.finding(Level.WARN, f"{host} {soft[0]}", message)
    for (host, gpu), (left, near) in sorted(log.narrowed.items()):
        if 0 < 2 * left < near:
            message = f"the rank of GPU {gpu} on {host} may run on {left} of the {near} CPUs local to its GPU"
            yield NUMA_MISBOUND.finding(Level.INFO, f"{host} GPU {gpu}", message)
    for (host, bus_id), (state, mask) in sorted(log.fabrics.items()):
        ill = [text for bit, text in enumerate(HEALTH) if mask >> 2 * bit & 3 == 1]
        if state != COMPLETED:
            ill.append(f"its state is {state}, not {COMPLETED} (completed)")
        if ill:
            message = f"the NVLink fabric of GPU {bus_id} on {host}: {', '.join(ill)}"
            yield FABRIC_NOT_READY.finding(Level.FAIL, f"{host} {bus_id}", message)


def _outputs(log: Log) -> Iterator[Finding]:
    outputs = log.outputs
    if len(outputs.averages) > 1 and max(outputs.averages) > SLOWER * min(outputs.averages) > 0:
        best, worst = max(outputs.averages), min(outputs.averages)
        message = f"one table of nccl-tests has {worst:g} GB/s on average, another {best:g}: {best / worst:.0f} times"
        yield RUN_SLOWER.finding(Level.WARN, "nccl-tests", message)
    if len(outputs.launched) > 1 or outputs.mismatches:
        parts = ", ".join(f"{ranks} ranks at operation {at}" for at, ranks in sorted(outputs.launched.items()))
        named = ", ".join(f"rank {rank} on {node}" for rank, node in sorted(outputs.named.items())[:8])
        message = "ranks of a communicator have launched different numbers of collectives"
        message += f": {parts}" if parts else ""
        message += f" (the ones that deviate: {named})" if named else ""
        yield COLLECTIVE_MISMATCH.finding(Level.FAIL, "communicator", message)
