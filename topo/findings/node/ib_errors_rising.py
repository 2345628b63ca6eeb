# SPDX-License-Identifier: Apache-2.0
"""Error counters of RDMA ports: with -r 2 those that rise between two readings, else those of one reading."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.port_errors import PortErrors, PortErrorsTwice, read_twice
from railgauge.topo.findings.cards.rdma_ports import IB_ERRORS_RISING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rising import rates, rise_words, rises
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

AT_BOOT = 2  # link-downs that are normal at boot
HARMLESS = ("out_of_buffer", "duplicate_request", "VL15_dropped")
"""What healthy ports count now and then: only a rise is reported."""


def _check(machine: Machine) -> Iterator[Finding]:
    return _judged(machine.sources.port_errors, None)


def _asking(machine: Machine) -> Iterator[Finding]:
    first = machine.sources.port_errors
    return _judged(first, read_twice(machine.reader, first) if first and machine.reader else None)


def _judged(first: tuple[PortErrors, ...], twice: PortErrorsTwice | None) -> Iterator[Finding]:
    """By two readings; `twice` is None if there is one only."""
    blind = [f"{port.device}:{port.port}" for port in first if not port.counts]
    if blind:
        yield RULE.unknown(", ".join(blind), "the counters cannot be read")
    if twice:
        yield from _rising(twice)
        return
    for port in first:
        if seen := _seen(port):
            named = ", ".join(f"{name} {count}" for name, count in seen.items())
            message = f"{named} since the last reset; to see whether they rise, run with -r 2 on the machine"
            yield RULE.finding(Level.INFO, f"{port.device}:{port.port}", message, counts=seen)


def _rising(twice: PortErrorsTwice) -> Iterator[Finding]:
    after = {(port.device, port.port): port.counts for port in twice.after}
    for port in twice.before:
        if port.counts and not after.get((port.device, port.port)):
            yield RULE.unknown(f"{port.device}:{port.port}", "the counters were gone at the second reading")
        if rise := rises(port.counts, after.get((port.device, port.port), {})):
            yield RULE.finding(
                Level.WARN,
                f"{port.device}:{port.port}",
                rise_words(rise, twice.seconds),
                rise=rise,
                per_s=rates(rise, twice.seconds),
                seconds=twice.seconds,
            )


def _seen(port: PortErrors) -> dict[str, int]:
    least = {"link_downed": AT_BOOT}
    return {name: count for name, count in port.counts.items() if count > least.get(name, 0) and name not in HARMLESS}


RULE = Rule(
    card=IB_ERRORS_RISING,
    concerns=lambda machine: machine.facts is None or bool(machine.sources.port_errors),
    check=_check,
    asking=_asking,
)
