# SPDX-License-Identifier: Apache-2.0
"""What makes a machine slower than its baseline: lost links, NVLinks, ports and devices, and a lower prediction."""

import re
from collections.abc import Iterator

from railgauge.topo.compare.change import Change
from railgauge.topo.errors import Error, InputError
from railgauge.topo.findings.cards.comparison import SLOWER_THAN_BEFORE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.nccl.graph.link_facts import lanes_short
from railgauge.topo.nccl.graph.model import PATH_TYPES

NUMBER = re.compile(r"\d+(?:\.\d+)?")
FEWER = ("width", "max width", "max speed", "rate", "NVLinks", "chip-to-chip links", "peers with P2P", "MTU")
FLAGS = ("GPUDirect RDMA", "DMA-BUF", "known to NVML")
KINDS = ("GPU", "NIC", "NVSwitch", "port", "net")  # a virtual interface comes and goes
GOOD = ("Active", "up")
LOWER = 0.99  # of the bus bandwidth before
NODES = (1, 2)  # alone, and as one of several


def _check(case: Case) -> Iterator[Finding]:
    before = case.baseline.case if case.baseline else None
    if before is None:
        yield RULE.unknown(case.host, "the baseline has only findings: use a capture to compare links and ports")
        return
    if _of_file(case):
        yield RULE.unknown(case.host, "one of the two is a topology file, which has no ports and no NVML data")
    try:
        changes = case.changes
    except InputError as error:  # an inconsistent file: topo-file-faulty reports it
        yield RULE.unknown(case.host, str(error))
        return
    if changes:
        yield from filter(None, (_predicted(case, before, nodes) for nodes in NODES))
    yield from (as_finding(RULE, Level.WARN, change) for change in changes if _is_slower(case, change))
    yield from (RULE.unknown(change.subject, change.message) for change in changes if _is_untold(change))


def others(case: Case) -> tuple[Change, ...]:
    """The changes since the baseline that make nothing slower, among facts known on both sides."""
    return tuple(one for one in case.changes if not _is_slower(case, one) and not _is_untold(one))


def _is_slower(case: Case, change: Change) -> bool:
    """Whether a change is for the worse. The speed at which a link runs falls when its device rests, so it counts only
    in a topology file, where it is the most that the link can do.
    """
    before, after = change.before, change.after
    if change.what == "presence":
        return after is None and _kind(case, change.subject) in KINDS
    if before is None or after is None:
        return False
    if change.what in FLAGS:
        return (before, after) == ("yes", "no")
    if change.what == "state":
        return before in GOOD and after not in GOOD
    if change.what == "path type":
        return PATH_TYPES.index(after) > PATH_TYPES.index(before)
    counts = change.what in FEWER or (change.what == "speed" and _of_file(case))
    return counts and _number(after) < _number(before)


def _is_untold(change: Change) -> bool:
    """Whether only one of the two has the fact; an interface that is down has no rate."""
    counts = change.what in (*FEWER, *FLAGS, "state") and not change.subject.startswith("interface ")
    return counts and None in (change.before, change.after)


def _of_file(case: Case) -> bool:
    before = case.baseline.case if case.baseline else None
    return before is None or before.inventory is None or case.inventory is None


def _number(text: str) -> float:
    found = NUMBER.search(text)
    return float(found[0]) if found else 0.0


def _kind(case: Case, subject: str) -> str | None:
    """The kind of a device of the baseline."""
    from railgauge.topo.compare.attributes import of_topology
    from railgauge.topo.compare.inventory_attributes import of_inventory

    before = case.baseline.case if case.baseline else None
    if before is None:
        return None
    topology, inventory = before.machine.topology, before.inventory
    items = of_topology(topology) if _of_file(case) or inventory is None else of_inventory(inventory, topology.numa)
    return next((item.kind for item in items if item.id == subject), None)


def as_finding(rule: Rule, level: Level, change: Change) -> Finding:
    """A change as a finding; its subject is the label of the message if that does not contain the id."""
    name, colon, _ = change.message.partition(": ")
    subject = name if colon and change.subject not in change.message else change.subject
    return rule.finding(level, subject, change.message, what=change.what, before=change.before, after=change.after)


def _predicted(case: Case, before: Case, nodes: int) -> Finding | None:
    """The bus bandwidth if it is lower than before; None without a prediction, as for a single GPU."""
    from railgauge.topo.findings.node.effect import compared, with_edits

    try:
        then, since = (with_edits(one, _as_they_run(one)) for one in (before, case))
    except Error:
        return None
    found = compared(then, since, nodes=nodes)
    if found is None:
        return None
    was, now = found.before.rows[-1].busbw_gb_per_s, found.after.rows[-1].busbw_gb_per_s
    if now >= was * LOWER:
        return None
    return RULE.finding(
        Level.WARN,
        case.host,
        f"predicted: {found.statement}",
        nodes=nodes,
        before_gb_per_s=round(was, 1),
        after_gb_per_s=round(now, 1),
    )


def _as_they_run(case: Case) -> list[str]:
    """The edits that give links their current lanes, if fewer than both ends support."""
    planned = {pci.get("busid") for pci in case.machine.topology.root.walk() if pci.name == "pci"}
    short = lanes_short(case.inventory) if case.inventory else {}
    return [f"{bus_id}.width={lanes}" for bus_id, lanes in short.items() if bus_id in planned]


RULE = Rule(card=SLOWER_THAN_BEFORE, needs=(), concerns=lambda case: case.baseline is not None, check=_check)
