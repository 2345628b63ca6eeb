# SPDX-License-Identifier: Apache-2.0
"""The verdict on a log: whether RDMA and GPUDirect RDMA are used, in a word each and in sentences."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.connections import BY_TCP, GDR, LoggedTraffic, transport
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.oddities import oddities

if TYPE_CHECKING:
    from railgauge.topo.jobs.judge.judged_table import JudgedTable
    from railgauge.topo.machine import Machine

RDMA_WORDS = {
    "yes": "RDMA is used between nodes",
    "partly": "RDMA is used for some connections between nodes and sockets for others",
    "no": "RDMA is not used: data goes through TCP sockets",
    "chosen": "RDMA is chosen, but no connection between nodes is in the log",
    "found": "RDMA devices are found, but which network is chosen is not in the log",
    "unneeded": "all ranks are on one node: no network is used",
    "unknown": "whether RDMA is used is not in the log",
}
UNDECIDED_WORDS = {
    "no": "RDMA is not used, which matters only if the job has other nodes: the log shows none",
    "chosen": "RDMA is chosen, which matters only if the job has other nodes: the log shows none",
    "partly": "RDMA is chosen by some ranks only, which matters only if the job has other nodes: the log shows none",
}
"""Where only one node, and no connection to another, is in the log."""
GDR_WORDS = {
    "yes": "GPUDirect RDMA is used",
    "partly": "GPUDirect RDMA is used for some of them and not for others",
    "no": "GPUDirect RDMA is not used: data is staged through host memory",
    "unknown": "whether GPUDirect RDMA is used is not in the log",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogVerdict:
    """rdma and gdr: a key of RDMA_WORDS and of GDR_WORDS. `findings`: the worst first. `judged`: the tables of
    benchmarks.
    """

    rdma: str
    gdr: str
    judged: tuple["JudgedTable", ...]
    findings: tuple[Finding, ...]
    text: str


def verdict(log: Log, machine: "Machine | None" = None) -> LogVerdict:
    """Judge a log, beside the machine that it is from."""
    network = Counter({one: times for one, times in log.connections.traffic() if one.via.startswith("NET/")})
    rdma, gdr = _rdma(log, network), _gdr(log, network)
    judged = _judged(log, machine)
    found = (*oddities(log, network, rdma, machine), *(finding for one in judged for finding in one.findings))
    return LogVerdict(
        rdma=rdma, gdr=gdr, judged=judged, findings=found, text=_text(log, network, rdma, gdr, found, judged)
    )


def _judged(log: Log, machine: "Machine | None") -> tuple["JudgedTable", ...]:
    if not log.outputs.tables:
        return ()
    from railgauge.topo.jobs.judge.known import TableJudge

    nodes = max(log.nodes.values(), default=0)
    had = {name: next(iter(values)) for name, values in log.settings.items() if len(values) == 1}
    tables = TableJudge(machine, in_force=had or None)
    return tuple(tables.judge(table, table.nodes or nodes) for table in log.outputs.tables)


def _rdma(log: Log, network: Counter[LoggedTraffic]) -> str:
    if network:
        socket = [one.via.startswith(BY_TCP) for one in network]
        return "no" if all(socket) else "partly" if any(socket) else "yes"
    if log.on_one_node:
        return "unneeded"
    chosen = set().union(*log.networks.values()) if log.networks else set()
    if chosen:
        by_tcp = [f"NET/{name}".startswith(BY_TCP) for name in chosen]
        return "no" if all(by_tcp) else "partly" if any(by_tcp) else "chosen"
    if any("IB" in devices for devices in log.devices.values()):
        return "found"
    sockets = any("Socket" in devices for devices in log.devices.values())  # looked for where there is no RDMA
    return "no" if sockets or log.without_rdma else "unknown"


def _rdma_words(log: Log, rdma: str, *, network: bool) -> str:
    """The sentence; of other nodes only where the log shows them."""
    if network and not log.on_several_nodes:
        return f"{'RDMA' if rdma == 'yes' else 'the network'} is used between ranks of one node"
    if log.on_several_nodes:
        return RDMA_WORDS[rdma]
    return UNDECIDED_WORDS.get(rdma, RDMA_WORDS[rdma])


def _gdr(log: Log, network: Counter[LoggedTraffic]) -> str:
    over_rdma = [GDR in one.via for one in network if not one.via.startswith(BY_TCP)]
    if over_rdma:
        return "yes" if all(over_rdma) else "partly" if any(over_rdma) else "no"
    if network or (log.hca_gdr and not any(log.hca_gdr.values())):
        return "no"
    return "unknown"


def _text(
    log: Log,
    network: Counter[LoggedTraffic],
    rdma: str,
    gdr: str,
    found: tuple[Finding, ...],
    judged: tuple["JudgedTable", ...],
) -> str:
    if not log.messages and (judged or log.outputs.any or log.events or log.kernel.of_kernel or log.kernel.any):
        said = []
    else:
        kinds = Counter[str]()
        for one, times in network.items():
            kinds[transport(one.via)] += times
        over = ", ".join(f"{kind} {times}" for kind, times in kinds.most_common())
        said = [_rdma_words(log, rdma, network=bool(network)) + (f" (sides of connections: {over})" if over else "")]
        if rdma in ("yes", "partly", "chosen") or gdr == "yes":
            said.append(GDR_WORDS[gdr])
    if judged:
        said += [one.statement for one in judged]
    elif averages := log.outputs.averages:
        said.append("nccl-tests: " + ", ".join(f"{average:g} GB/s" for average in averages) + " on average")
    worst = [finding for finding in found if finding.level in (Level.FAIL, Level.WARN)]
    said.append(", ".join(dict.fromkeys(f"{finding.level} {finding.id}" for finding in worst)) or "no problem found")
    return "; ".join(said) + "."
