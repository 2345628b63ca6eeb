# SPDX-License-Identifier: Apache-2.0
"""Problems in a log: errors, fallbacks, nodes and ranks that differ from the others; as findings."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from railgauge.topo.facts.sources.kernel_events import read_events
from railgauge.topo.facts.sources.nvml import fabric_ills
from railgauge.topo.findings.card import Card
from railgauge.topo.findings.cards.comparison import NODES_DIFFER
from railgauge.topo.findings.cards.gdr import PEERMEM_MISSING
from railgauge.topo.findings.cards.gpus import DRIVER_MISMATCH, NUMA_MISBOUND, P2P_UNSUPPORTED
from railgauge.topo.findings.cards.health import GPU_XID
from railgauge.topo.findings.cards.jobs import RANKS_MISSING
from railgauge.topo.findings.cards.logs import COLLECTIVE_MISMATCH, OTHER_WARNING, RUN_SLOWER
from railgauge.topo.findings.cards.network import HOST_ID_COLLISION, SOCKET_IFNAME_VIRTUAL
from railgauge.topo.findings.cards.nvlink import FABRIC_NOT_READY, NVLINK_MISSING
from railgauge.topo.findings.cards.parts import FEWER_CHANNELS, LINK_LAYERS_MIXED
from railgauge.topo.findings.cards.rdma import SOFT_RDMA_PRESENT, VERBS_DEVICE_MISSING
from railgauge.topo.findings.cards.settings import CONF_FILE_FORGOTTEN
from railgauge.topo.findings.cards.topology_file import NVLINK_ONE_SIDED, PCIE_BRIDGE_BOGUS
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import LEVELS, Finding, Level
from railgauge.topo.findings.kernel_events import sxid_findings, xid_findings
from railgauge.topo.findings.node.consequences import FOLLOWS_FROM, with_causes
from railgauge.topo.jobs.logs.connections import LoggedTraffic, transport
from railgauge.topo.jobs.logs.errors import errors
from railgauge.topo.jobs.logs.host_names import hosts_of_one_name
from railgauge.topo.jobs.logs.interfaces import interfaces
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.network import gpu_direct, plugins, ports, sockets
from railgauge.topo.jobs.logs.set_by_hand import settings
from railgauge.topo.jobs.logs.words import named, numbers

SLOWER = 2.0
"""How many times an nccl-tests table may be behind the best one of the same log."""
UNNAMED = "a rank that is not named"
if TYPE_CHECKING:
    from railgauge.topo.machine import Machine

COLLAPSE = 4
"""How many times the channels of one rank are those of another before it counts, the communicator being unknown."""
GOES_ON, SINCE = "NCCL_IGNORE_NET_MISMATCH", (2, 30)
SOFT_RDMA = ("rxe", "siw")
COMPLETED = 3  # NVML's fabric state


def oddities(
    log: Log, network: Counter[LoggedTraffic], rdma: str, machine: "Machine | None" = None
) -> tuple[Finding, ...]:
    """The findings, causes before what follows from them, the worst first. A look that fails is UNKNOWN under the first
    id that it could give.
    """
    kernel = guarded(GPU_XID.id, "the log", lambda: _kernel(log))
    names = guarded(HOST_ID_COLLISION.id, "the log", lambda: hosts_of_one_name(log))
    looks: tuple[tuple[Card, Callable[[], Iterable[Finding]]], ...] = (
        (GPU_XID, lambda: kernel),
        (HOST_ID_COLLISION, lambda: names),
        (SOCKET_IFNAME_VIRTUAL, lambda: interfaces(log)),
        (LINK_LAYERS_MIXED, lambda: ports(log)),
        (OTHER_WARNING, lambda: errors(log, _faulty([*names, *kernel]))),
        (VERBS_DEVICE_MISSING, lambda: sockets(log, rdma)),
        (PEERMEM_MISSING, lambda: gpu_direct(log, network)),
        (P2P_UNSUPPORTED, lambda: _shared_memory(log)),
        (CONF_FILE_FORGOTTEN, lambda: settings(log)),
        (NVLINK_MISSING, lambda: _channels(log)),
        (DRIVER_MISMATCH, lambda: log.cuda.findings()),
        (NODES_DIFFER, lambda: plugins(log)),
        (NODES_DIFFER, lambda: _differences(log)),
        (PCIE_BRIDGE_BOGUS, lambda: _machine(log)),
        (COLLECTIVE_MISMATCH, lambda: _outputs(log)),
        (RANKS_MISSING, lambda: _apart(log)),
        (FEWER_CHANNELS, lambda: _beside(log, machine)),
    )
    found = [finding for card, look in looks for finding in guarded(card.id, "the log", look)]
    return tuple(sorted(found, key=lambda one: (FOLLOWS_FROM in one.evidence, -LEVELS.index(one.level))))


def _apart(log: Log) -> Iterator[Finding]:
    """Processes that each have a communicator of their own: jobs of one rank, or one that its launcher did not join."""
    worlds = log.outputs.worlds
    processes = {*worlds} or {(rank.host, str(rank.pid)) for rank in log.ranks.values()}
    if len(processes) > 1 and (worlds or all(rank.size == 1 for rank in log.ranks.values())):
        message = (
            f"{len(processes)} processes on {named({host for host, _ in processes})} each are rank 0 of a "
            "communicator of their own: if they are one job, the launcher did not join them (another MPI than the "
            "program's, or one built without MPI=1)"
        )
        several = worlds or len(log.outputs.averages) > 1
        yield RANKS_MISSING.finding(Level.WARN if several else Level.INFO, "ranks", message)


def _beside(log: Log, machine: "Machine | None") -> Iterable[Finding]:
    if machine is None:
        return ()
    from railgauge.topo.jobs.logs.beside_machine import beside

    return beside(log, machine)


def _kernel(log: Log) -> Iterator[Finding]:
    events = read_events(log.kernel.facts())
    yield from with_causes([*xid_findings(events), *sxid_findings(events)])


def _faulty(kernel: Iterable[Finding]) -> list[Finding]:
    """What the driver reports of GPUs that are faulty, the worst first, without what follows from it."""
    faults = [one for one in kernel if one.level in (Level.FAIL, Level.WARN) and FOLLOWS_FROM not in one.evidence]
    return sorted(faults, key=lambda one: one.level is Level.WARN)


def _shared_memory(log: Log) -> Iterator[Finding]:
    ways = Counter[str]()
    for one, times in log.connections.traffic():
        ways[transport(one.via)] += times
    if ways["SHM"]:
        beside = f", {ways['P2P']} by P2P" if ways["P2P"] else ""
        message = f"{ways['SHM']} connections within nodes go through host memory (SHM){beside}"
        yield P2P_UNSUPPORTED.finding(Level.INFO, "SHM", message)


def _channels(log: Log) -> Iterator[Finding]:
    """Ranks of a communicator with different channel counts: the lowest applies to all."""
    comms: defaultdict[str, dict[tuple[int, int | None], set[str]]] = defaultdict(dict)
    for (comm, host, device), counts in log.channels.items():
        comms[comm].setdefault(counts, set()).add(f"{host}[{device}]" if host else UNNAMED)
    for comm, told in comms.items():
        if len(told) == 1 or (not comm and log.ranks and set.union(*told.values()) != {UNNAMED}):
            continue  # of several communicators, perhaps
        parts = "; ".join(
            f"{coll} channels{'' if nvls is None else f' and {nvls} of NVLS'} on {named(who)}"
            for (coll, nvls), who in sorted(told.items(), key=lambda item: -item[0][0])
        )
        most, least = max(coll for coll, _ in told), min(coll for coll, _ in told)
        level = Level.WARN if comm or most >= COLLAPSE * least else Level.INFO
        yield NVLINK_MISSING.finding(level, comm or "channels", f"channel counts differ: {parts}")


def _differences(log: Log) -> Iterator[Finding]:
    releases = {release: hosts - {""} for release, hosts in log.releases.items()}
    if len(releases) > 1:
        parts = "; ".join(f"{release} on {named(hosts)}" for release, hosts in sorted(releases.items()))
        yield NODES_DIFFER.finding(Level.WARN, "release", f"releases differ: {parts}")
    users: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for host, networks in log.devices.items():
        if "IB" in networks:
            users[networks["IB"]].add(host)
    usual = max(users, key=lambda devices: len(users[devices]), default=())
    for devices, hosts in sorted(users.items()):
        if devices != usual:
            level = Level.INFO if len(devices) == len(usual) else Level.WARN
            message = f"{named(hosts)} uses {' '.join(devices)}, {named(users[usual])} {' '.join(usual)}"
            if level is Level.WARN and _goes_on(log):
                message += f"; {GOES_ON} lets NCCL go on, and a channel through a NIC that its peer lacks hangs"
            yield NODES_DIFFER.finding(level, named(hosts), f"RDMA devices differ: {message}")


def _goes_on(log: Log) -> bool:
    """Whether ranks with other NICs go on: by the setting, or by its default of 1, which it has since NCCL 2.30."""
    if said := log.settings.get(GOES_ON, {}).keys():
        return bool(said - {"0"})
    return any(name.startswith("NCCL ") and numbers(name) >= SINCE for name in log.releases)


def _machine(log: Log) -> Iterator[Finding]:
    yield from _nvlinks(log)
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
        ill = [*fabric_ills(mask)]
        if state != COMPLETED:
            ill.append(f"its state is {state}, not {COMPLETED} (completed)")
        if ill:
            message = f"the NVLink fabric of GPU {bus_id} on {host}: {', '.join(ill)}"
            yield FABRIC_NOT_READY.finding(Level.FAIL, f"{host} {bus_id}", message)


def _nvlinks(log: Log) -> Iterator[Finding]:
    """NVLinks of which one end has fewer: a link is down, or a topology file is wrong."""
    file = next(iter(log.topology_files), "")
    for (host, one, other), speed in sorted(log.nvlinks.items()):
        back = log.nvlinks.get((host, other, one))
        if back is not None and speed < back:
            message = f"{one} on {named([host])} has {speed:g} GB/s of NVLinks to {other}, which has {back:g} GB/s back"
            message += f": the topology file {file} states fewer links at one end" if file else ""
            yield NVLINK_ONE_SIDED.finding(Level.WARN, f"{host} {one}", message)


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
