# SPDX-License-Identifier: Apache-2.0
"""Error counters of RDMA ports: with -r 2 those that rise between two readings, else those of one reading."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.port_errors import BETWEEN_S, PortErrors, read_later
from railgauge.topo.findings.cards.rdma import IB_ERRORS_RISING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

AT_BOOT = 2  # link-downs that are normal at boot


def _check(machine: Machine) -> Iterator[Finding]:
    return _judged(machine.sources.port_errors, ())


def _asking(machine: Machine) -> Iterator[Finding]:
    before = machine.sources.port_errors
    return _judged(before, read_later(machine.reader) if before and machine.reader else ())


def _judged(before: tuple[PortErrors, ...], after: tuple[PortErrors, ...]) -> Iterator[Finding]:
    """By two readings; `after` is empty if there is one only."""
    blind = [f"{port.device}:{port.port}" for port in before if not port.counts]
    if blind:
        yield RULE.unknown(", ".join(blind), "the counters cannot be read")
    for place, port in enumerate(before):
        subject = f"{port.device}:{port.port}"
        if rising := _rising(port, after[place]) if len(after) == len(before) else {}:
            named = ", ".join(f"{name} by {count}" for name, count in rising.items())
            yield RULE.finding(Level.WARN, subject, f"rose in {BETWEEN_S:g} s: {named}", rise=rising)
        elif not after and (seen := _seen(port)):
            named = ", ".join(f"{name} {count}" for name, count in seen.items())
            message = f"{named} since the last reset; to see whether they rise, run with -r 2 on the machine"
            yield RULE.finding(Level.INFO, subject, message, counts=seen)


def _rising(before: PortErrors, after: PortErrors) -> dict[str, int]:
    changes = {name: count - before.counts.get(name, count) for name, count in after.counts.items()}
    return {name: change for name, change in changes.items() if change > 0}


def _seen(port: PortErrors) -> dict[str, int]:
    least = {"link_downed": AT_BOOT}
    return {name: count for name, count in port.counts.items() if count > least.get(name, 0)}


RULE = Rule(
    card=IB_ERRORS_RISING,
    concerns=lambda machine: machine.facts is None or bool(machine.sources.port_errors),
    check=_check,
    asking=_asking,
)
