# SPDX-License-Identifier: Apache-2.0
"""What is odd about a log: errors, fall-backs, nodes and ranks that differ from the others; as findings.

An id is that of the rule that finds the cause on a machine, where there is one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import LEVELS, Finding, Level
from railgauge.topo.findings.node.rules import RULES
from railgauge.topo.jobs.logs.catalogue import OTHERS
from railgauge.topo.jobs.logs.connections import GDR, Traffic, transport
from railgauge.topo.jobs.logs.log import Log

SLOWER = 2.0
"""How many times an nccl-tests table may be behind the best one of the same log."""
ENDS = {"send": "sending", "receive": "receiving"}
VIRTUAL = re.compile(r"(?:docker|virbr|veth|cni|flannel|br-|cali|tailscale)\S*|lo")
"""Interfaces by which no other node can be reached."""
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


def oddities(log: Log, network: Counter[Traffic], rdma: str) -> tuple[Finding, ...]:
    """The findings, the worst first. A look that fails by itself is UNKNOWN under the first id that it could give."""
    looks: tuple[tuple[str, Callable[[], Iterable[Finding]]], ...] = (
        (OTHERS, lambda: _errors(log)),
        ("verbs-device-missing", lambda: _sockets(log, rdma)),
        ("peermem-missing", lambda: _gdr(log, network)),
        ("p2p-unsupported", lambda: _shared_memory(log)),
        ("conf-file-forgotten", lambda: _settings(log)),
        ("socket-ifname-virtual", lambda: _interfaces(log)),
        ("nvlink-missing", lambda: _channels(log)),
        ("nodes-differ", lambda: _differences(log)),
        ("pcie-bridge-bogus", lambda: _machine(log)),
        ("collective-mismatch", lambda: _outputs(log)),
    )
    found = [finding for identifier, look in looks for finding in guarded(identifier, "the log", look)]
    return tuple(sorted(found, key=lambda finding: -LEVELS.index(finding.level)))


def _finding(
    name: str, level: Level, subject: str, message: str, remedy: str = "", *, effect: str = "", **evidence: Any
) -> Finding:
    known = any(rule.id == name for rule in RULES)
    look = f"railgauge check --only {name} there; railgauge explain {name}" if known else ""
    remedy = "; ".join(part for part in (remedy, look) if part)
    return Finding(
        id=name, level=level, subject=subject, message=message, effect=effect, remedy=remedy, evidence=evidence
    )


def _names(hosts: Iterable[str]) -> str:
    """Hosts in a few words."""
    named = sorted(host for host in hosts if host)
    more = f" and {len(named) - 4} more" if len(named) > 4 else ""
    return ", ".join(named[:4]) + more if named else "the log"


def _errors(log: Log) -> Iterator[Finding]:
    for seen in log.sightings.values():
        yield _finding(
            seen.entry.id,
            seen.entry.level,
            _names(seen.hosts),
            f"{seen.entry.meaning} ({seen.times} {'line' if seen.times == 1 else 'lines'}: {seen.text})",
            seen.entry.remedy,
            line=seen.text,
            lines=seen.times,
            hosts=sorted(seen.hosts),
        )


def _sockets(log: Log, rdma: str) -> Iterator[Finding]:
    if rdma not in ("no", "partly"):
        return
    devices = {host for host, found in log.devices.items() if "IB" in found}
    if rdma == "partly":
        message = "some connections or nodes use sockets while others use RDMA"
        yield _finding("nodes-differ", Level.WARN, "network", message, "look for the node that has no RDMA device")
    elif devices:
        message = f"RDMA devices are found on {_names(devices)}, and sockets are used all the same"
        yield _finding("nodes-differ", Level.WARN, "network", message, "every node needs the RDMA devices")
    else:
        why = f"no RDMA device is found on {_names(log.without_rdma)}" if log.without_rdma else "no RDMA device is used"
        message = f"data between nodes goes through TCP sockets: {why}"
        remedy = "if the nodes have RDMA NICs: /dev/infiniband and rdma-core in the container, NCCL_IB_DISABLE unset"
        yield _finding(
            "verbs-device-missing",
            Level.WARN,
            _names(log.without_rdma),
            message,
            remedy,
            hosts=sorted(log.without_rdma),
        )


def _gdr(log: Log, network: Counter[Traffic]) -> Iterator[Finding]:
    over = {one: times for one, times in network.items() if not one.via.startswith("NET/Socket")}
    without = {one for one in over if GDR not in one.via}
    disabled = {host for (host, _), on in log.hca_gdr.items() if not on}
    remedy = "load nvidia_peermem or use open GPU kernel modules (DMA-BUF) on each node; or the NIC is too far from it"
    if disabled or (without and len(without) == len(over)):
        hosts = disabled or {one.host for one in without}
        said = "NCCL says that it is disabled" if disabled else "no connection has it"
        message = f"GPUDirect RDMA is not used on {_names(hosts)}: {said}"
        effect = "data between nodes is staged through host memory"
        yield _finding(
            "peermem-missing", Level.WARN, _names(hosts), message, remedy, effect=effect, hosts=sorted(hosts)
        )
    elif without:
        yield _asymmetric(set(over), without)


def _asymmetric(over: set[Traffic], without: set[Traffic]) -> Finding:
    """Some connections have it: what those without it have in common says why."""
    effect = "the ones without it are staged through host memory, and slow down the rings they are in"
    for name, said, part in (
        ("peermem-missing", "on {}", lambda one: one.host),
        ("gpu-nic-far", "through NIC {}", lambda one: one.via.split("/")[2].split("(")[0]),
        ("gpu-nic-far", "when {}", lambda one: ENDS.get(one.end, "")),
    ):
        off = {part(one) for one in without}
        if off and "" not in off and not off & {part(one) for one in over - without}:
            where = said.format(", ".join(sorted(off)))
            message = f"GPUDirect RDMA is asymmetric: it is not used {where}, and is used otherwise"
            remedy = "railgauge gdr check there names the condition that says no, GPU by NIC, such as nvidia_peermem"
            return _finding(name, Level.WARN, where, message, remedy, effect=effect)
    message = f"GPUDirect RDMA is asymmetric: {len(without)} of {len(over)} kinds of connections lack it"
    return _finding("gpu-nic-far", Level.WARN, "GPUDirect RDMA", message, effect=effect)


def _shared_memory(log: Log) -> Iterator[Finding]:
    ways = Counter[str]()
    for one, times in log.connections.traffic():
        ways[transport(one.via)] += times
    if ways["SHM"]:
        beside = f", {ways['P2P']} by P2P" if ways["P2P"] else ""
        message = f"{ways['SHM']} connections within nodes go through host memory (SHM){beside}"
        remedy = "by design where GPUs are far apart or have no P2P: railgauge topo paths there shows each pair"
        yield _finding("p2p-unsupported", Level.INFO, "SHM", message, remedy)


def _settings(log: Log) -> Iterator[Finding]:
    for name, values in sorted(log.settings.items()):
        if name in FORGOTTEN and "1" in values:
            message = f"{name}=1 on {_names(values['1'])}: {FORGOTTEN[name]}"
            remedy = "look for it in the environment, ~/.nccl.conf and /etc/nccl.conf"
            yield _finding("conf-file-forgotten", Level.WARN, name, message, remedy)
        if name == "NCCL_IB_GID_INDEX":
            message = f"{name} is set to {', '.join(sorted(values))}: NCCL takes it unchecked"
            remedy = "leave it unset since 2.21, where NCCL chooses a RoCE v2 GID itself"
            yield _finding("gid-index-invalid", Level.INFO, name, message, remedy)
        if len(values) > 1:
            parts = "; ".join(f"{value} on {_names(hosts)}" for value, hosts in sorted(values.items())[:4])
            yield _finding("nodes-differ", Level.INFO, name, f"{name} is not the same everywhere: {parts}")


def _interfaces(log: Log) -> Iterator[Finding]:
    if log.on_one_node or len(log.hosts) < 2:
        return
    for host, chosen in sorted(log.bootstraps.items()):
        if VIRTUAL.fullmatch(chosen.split()[0]):
            message = f"{host} meets the other ranks by {chosen}, an interface that other nodes do not reach"
            remedy = "NCCL_SOCKET_IFNAME=NAME of an interface that joins the nodes"
            yield _finding("socket-ifname-virtual", Level.WARN, host, message, remedy)


def _channels(log: Log) -> Iterator[Finding]:
    """Ranks of a communicator that count other channels: the least of them is what all get."""
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
        remedy = "a rank whose NVLinks are not seen takes all to its few channels: compare nvidia-smi nvlink -s"
        yield _finding("nvlink-missing", level, comm or "channels", f"channel counts differ: {parts}", remedy)


def _differences(log: Log) -> Iterator[Finding]:
    releases = {release: hosts - {""} for release, hosts in log.releases.items()}
    if len(releases) > 1:
        parts = "; ".join(f"{release} on {_names(hosts)}" for release, hosts in sorted(releases.items()))
        yield _finding("nodes-differ", Level.WARN, "release", f"releases differ: {parts}", "one release on all nodes")
    users: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for host, networks in log.devices.items():
        if "IB" in networks:
            users[networks["IB"]].add(host)
    usual = max(users, key=lambda devices: len(users[devices]), default=())
    for devices, hosts in sorted(users.items()):
        if devices != usual:
            level = Level.INFO if len(devices) == len(usual) else Level.WARN
            message = f"{_names(hosts)} uses {' '.join(devices)}, {_names(users[usual])} {' '.join(usual)}"
            yield _finding("nodes-differ", level, _names(hosts), f"RDMA devices differ: {message}")


def _machine(log: Log) -> Iterator[Finding]:
    for (host, device), gb_per_s in sorted(log.slow_bridges.items()):
        message = f"the topology on {host} has PCI/{device} at {gb_per_s:g} GB/s: no real bridge is so slow"
        remedy = "mend the link_speed and link_width of it in the topology file, or have the cloud mend theirs"
        yield _finding("pcie-bridge-bogus", Level.FAIL, f"{host} PCI/{device}", message, remedy)
    for host, networks in sorted(log.devices.items()):
        soft = [device for device in networks.get("IB", ()) if device.startswith(SOFT_RDMA)]
        if soft:
            message = f"{host} uses software RDMA: {' '.join(soft)}"
            remedy = "NCCL_IB_HCA=^rxe,siw, or rdma link delete NAME"
            yield _finding("soft-rdma-present", Level.WARN, f"{host} {soft[0]}", message, remedy)
    for (host, gpu), (left, near) in sorted(log.narrowed.items()):
        if 0 < 2 * left < near:
            message = f"the rank of GPU {gpu} on {host} may run on {left} of the {near} CPUs beside its GPU"
            remedy = "mpirun --bind-to none or numa, and a container's cpuset of the GPU's socket"
            yield _finding("numa-misbound", Level.INFO, f"{host} GPU {gpu}", message, remedy)
    for (host, bus_id), (state, mask) in sorted(log.fabrics.items()):
        ill = [text for bit, text in enumerate(HEALTH) if mask >> 2 * bit & 3 == 1]
        if state != COMPLETED:
            ill.append(f"its state is {state}, not {COMPLETED} (completed)")
        if ill:
            message = f"the NVLink fabric of GPU {bus_id} on {host}: {', '.join(ill)}"
            yield _finding("fabric-not-ready", Level.FAIL, f"{host} {bus_id}", message, "nvidia-smi -q -i GPU: Fabric")


def _outputs(log: Log) -> Iterator[Finding]:
    outputs = log.outputs
    if len(outputs.averages) > 1 and max(outputs.averages) > SLOWER * min(outputs.averages) > 0:
        best, worst = max(outputs.averages), min(outputs.averages)
        message = f"one table of nccl-tests has {worst:g} GB/s on average, another {best:g}: {best / worst:.0f} times"
        remedy = "compare the machines of the two: railgauge topo diff; a VM without topology shows as vm-flat-topology"
        yield _finding("run-slower", Level.WARN, "nccl-tests", message, remedy)
    if len(outputs.launched) > 1 or outputs.mismatches:
        parts = ", ".join(f"{ranks} ranks at operation {at}" for at, ranks in sorted(outputs.launched.items()))
        named = ", ".join(f"rank {rank} on {node}" for rank, node in sorted(outputs.named.items())[:8])
        message = "ranks of a communicator have launched different numbers of collectives"
        message += f": {parts}" if parts else ""
        message += f" (the odd ones: {named})" if named else ""
        remedy = "look where the program of the odd ranks calls a collective that the others do not"
        yield _finding("collective-mismatch", Level.FAIL, "communicator", message, remedy)
