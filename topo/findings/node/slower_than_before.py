# SPDX-License-Identifier: Apache-2.0
"""What makes a machine slower than its baseline: lost links, NVLinks, ports and devices, and a lower prediction."""

import re
from collections.abc import Iterator

from railgauge.topo.compare.change import Change
from railgauge.topo.errors import InputError
from railgauge.topo.findings.cards.comparison import SLOWER_THAN_BEFORE
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.baseline import SinceBaseline
from railgauge.topo.findings.node.rule import ComparisonRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import PATH_TYPES

NUMBER = re.compile(r"\d+(?:\.\d+)?")
FEWER = ("width", "max width", "max speed", "rate", "NVLinks", "chip-to-chip links", "peers with P2P", "MTU")
FLAGS = ("GPUDirect RDMA", "DMA-BUF", "known to NVML")
KINDS = ("GPU", "NIC", "NVSwitch", "port", "net")  # a virtual interface comes and goes
GOOD = ("Active", "up")
LOWER = 0.99  # of the bus bandwidth before
NODES = (1, 2)  # alone, and as one of several


def _check(since: SinceBaseline) -> Iterator[Finding]:
    machine, before = since.machine, since.before
    if before is None:
        yield RULE.unknown(machine.host, "the baseline has only findings: use a capture to compare links and ports")
        return
    if since.of_file:
        yield RULE.unknown(machine.host, "one of the two is a topology file, which has no ports and no NVML data")
    try:
        changes = since.changes
    except InputError as error:  # an inconsistent file: topo-file-faulty reports it
        yield RULE.unknown(machine.host, str(error))
        return
    if changes:
        yield from guarded(RULE.id, machine.host, lambda: _all_predicted(machine, before))
    yield from (as_finding(RULE, Level.WARN, change) for change in changes if _is_slower(since, change))
    yield from (RULE.unknown(change.subject, change.message) for change in changes if _is_untold(change))


def others(since: SinceBaseline) -> tuple[Change, ...]:
    """The changes since the baseline that make nothing slower, among facts known on both sides."""
    return tuple(one for one in since.changes if not _is_slower(since, one) and not _is_untold(one))


def _is_slower(since: SinceBaseline, change: Change) -> bool:
    """Whether a change is for the worse. The speed at which a link runs falls when its device rests, so it counts only
    in a topology file, where it is the most that the link can do.
    """
    before, after = change.before, change.after
    if change.what == "presence":
        return after is None and _kind(since, change.subject) in KINDS
    if before is None or after is None:
        return False
    if change.what in FLAGS:
        return (before, after) == ("yes", "no")
    if change.what == "state":
        return before in GOOD and after not in GOOD
    if change.what == "path type":
        return PATH_TYPES.index(after) > PATH_TYPES.index(before)
    counts = change.what in FEWER or (change.what == "speed" and since.of_file)
    return counts and _number(after) < _number(before)


def _is_untold(change: Change) -> bool:
    """Whether only one of the two has the fact; an interface that is down has no rate."""
    counts = change.what in (*FEWER, *FLAGS, "state") and not change.subject.startswith("interface ")
    return counts and None in (change.before, change.after)


def _number(text: str) -> float:
    found = NUMBER.search(text)
    return float(found[0]) if found else 0.0


def _kind(since: SinceBaseline, subject: str) -> str | None:
    """The kind of a device of the baseline."""
    from railgauge.topo.compare.attributes import of_topology
    from railgauge.topo.compare.inventory_attributes import of_inventory

    before = since.before
    if before is None:
        return None
    topology, inventory = before.topology, before.facts
    items = of_topology(topology) if since.of_file or inventory is None else of_inventory(inventory, topology.numa)
    return next((item.kind for item in items if item.id == subject), None)


def as_finding(rule: ComparisonRule, level: Level, change: Change) -> Finding:
    """A change as a finding; its subject is the label of the message if that does not contain the id."""
    name, colon, _ = change.message.partition(": ")
    subject = name if colon and change.subject not in change.message else change.subject
    return rule.finding(level, subject, change.message, what=change.what, before=change.before, after=change.after)


def _all_predicted(machine: Machine, before: Machine) -> Iterator[Finding]:
    return filter(None, (_predicted(machine, before, nodes) for nodes in NODES))


def _predicted(machine: Machine, before: Machine, nodes: int) -> Finding | None:
    """The bus bandwidth if it is lower than before; None without a prediction, as for a single GPU."""
    from railgauge.topo.findings.node.effect import compared

    found = compared(before, machine, nodes=nodes)
    if found is None:
        return None
    was, now = found.before.rows[-1].busbw_gb_per_s, found.after.rows[-1].busbw_gb_per_s
    if now >= was * LOWER:
        return None
    return RULE.finding(
        Level.WARN,
        machine.host,
        f"predicted: {found.statement}",
        nodes=nodes,
        before_gb_per_s=round(was, 1),
        after_gb_per_s=round(now, 1),
    )


RULE = ComparisonRule(card=SLOWER_THAN_BEFORE, check=_check)
