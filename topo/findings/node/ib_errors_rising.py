# SPDX-License-Identifier: Apache-2.0
"""Error counters of RDMA ports: with -r 2 those that rise between two readings, else what one reading shows."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.port_errors import BETWEEN_S, PortErrors, read_later
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule

TWO_READINGS = 2  # the cost from which there is a second one
AT_BOOT = 2  # times that a link goes down until a machine is up


def _check(case: Case) -> Iterator[Finding]:
    before = case.evidence.port_errors
    after = _second(case)
    blind = [f"{port.device}:{port.port}" for port in before if not port.counts]
    if blind:
        yield RULE.unknown(", ".join(blind), "the counters cannot be read")
    for place, port in enumerate(before):
        subject = f"{port.device}:{port.port}"
        if rising := _rising(port, after[place]) if len(after) == len(before) else {}:
            told = ", ".join(f"{name} by {count}" for name, count in rising.items())
            yield RULE.finding(Level.WARN, subject, f"in {BETWEEN_S:g} s rose {told}", rise=rising)
        elif not after and (seen := _seen(port)):
            told = ", ".join(f"{name} {count}" for name, count in seen.items())
            message = f"{told} since they were reset: whether they rise takes two readings, -r 2 on the machine"
            yield RULE.finding(Level.INFO, subject, message, counts=seen)


def _second(case: Case) -> tuple[PortErrors, ...]:
    """A later reading; empty where only files are to be read, or a capture holds none."""
    if case.cost < TWO_READINGS or not case.evidence.port_errors or case.reader is None:
        return ()
    return read_later(case.reader)


def _rising(before: PortErrors, after: PortErrors) -> dict[str, int]:
    changes = {name: count - before.counts.get(name, count) for name, count in after.counts.items()}
    return {name: change for name, change in changes.items() if change > 0}


def _seen(port: PortErrors) -> dict[str, int]:
    least = {"link_downed": AT_BOOT}
    return {name: count for name, count in port.counts.items() if count > least.get(name, 0)}


RULE = Rule(
    id="ib-errors-rising",
    title="Error counters of an RDMA port rise",
    levels=(Level.INFO, Level.WARN, Level.UNKNOWN),
    about=(
        "Symbol errors and link recoveries come of cables and optics, timeouts and sequence errors of lost packets: "
        "on RoCE of missing flow control (PFC, ECN, the wrong traffic class). Counters hold all since the last reset, "
        "so that only their rise tells of now."
    ),
    passes="no error counter rose, or all are 0",
    reads=("/sys/class/infiniband/*/ports/*/counters", "/sys/class/infiniband/*/ports/*/hw_counters"),
    shows=("NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129", "Got async event : port error"),
    sure="railgauge check -r 2 --only ib-errors-rising while a job runs; mlxlink -d DEVICE -c",
    remedy="cable and optics for symbol errors; PFC, ECN and NCCL_IB_TC for timeouts and sequence errors on RoCE",
    links=("https://github.com/NVIDIA/nccl/issues/426", "https://github.com/deepseek-ai/DeepEP/issues/60"),
    concerns=lambda case: case.inventory is None or bool(case.evidence.port_errors),
    check=_check,
)
