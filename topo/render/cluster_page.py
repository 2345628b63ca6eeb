# SPDX-License-Identifier: Apache-2.0
"""`cluster check -o report.html`: the picture of rails and nodes, the causes, and a table of all nodes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from railgauge.topo.findings.cluster.causes import ClusterCause, devices
from railgauge.topo.findings.cluster.report import unread_by_reason
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.render.cluster_check import CLEAN, NOT_READ, ClusterAnswer, designs, headline
from railgauge.topo.render.findings import LOUD, also, cause_groups, follows_text, ids_of
from railgauge.topo.render.findings_html import STYLE, badge, block
from railgauge.topo.render.markup import escape, page, section, table
from railgauge.topo.render.picture.rails import CellState, ClusterRow, rails
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.number import natural

HOST = "node"
"""The column of what is wrong with a node as a whole."""
MOST_ROWS = 256
"""Rows of the picture; equal nodes are one."""
OWN_STYLE = "td.text { white-space: normal; min-width: 20rem; overflow-wrap: anywhere }"


def cluster_page(answer: ClusterAnswer, time: str) -> str:
    """The page; `time` is when the answer was made."""
    unread = "".join(
        f"<li>{escape(names)}: {escape(reason)}</li>" for names, reason in unread_by_reason(answer.report.unread)
    )
    body = (
        "<h1>Cluster check</h1>",
        f"<p><strong>{escape(headline(answer))}</strong></p>",
        f"<p>checked {escape(time)}</p>",
        *(f"<p>{escape(text)}</p>" for text in designs(answer)),
        section("Rails and nodes", f"<figure>\n{_picture(answer)}</figure>" if answer.nodes else ""),
        section("Not read", f"<ul>{unread}</ul>" if unread else ""),
        section("Causes", "\n".join(_causes(answer))),
        section(
            "Nodes", table(("node", "verdict", "cause", "device", "what"), [_row(answer, n) for n in answer.nodes])
        ),
        section("Not possible, and passed", _rest([one.finding for one in answer.found])),
    )
    return page("railgauge cluster check", body, f"{STYLE}\n{OWN_STYLE}")


def _causes(answer: ClusterAnswer) -> Iterator[str]:
    causes = {id(cause.found.finding): cause for cause in answer.causes}
    for alike in cause_groups([cause.found.finding for cause in answer.causes]):
        yield _cause([causes[id(one)] for one in alike])


def _cause(alike: Sequence[ClusterCause]) -> str:
    """One cause; further devices of the same one, and what follows from all of them."""
    first, *others = alike
    one = first.found.finding
    further = also([its.found.finding for its in others], names_hosts=True)
    facts = [("nodes", folded(first.found.concerned)), ("also", further)]
    facts += [("effect", effect) for effect in dict.fromkeys(its.found.finding.effect for its in alike)]
    facts.append(("remedy", one.remedy))
    below = [follows.finding for its in alike for follows in its.consequences]
    facts += [("follows", follows_text(each, names_hosts=True)) for each in below]
    return block(one, facts)


def _row(answer: ClusterAnswer, node: str) -> str:
    verdict = answer.verdict(node)
    faults = answer.faults.get(node, ())
    shown = badge(Level(verdict)) if faults else f"<span class=level>{verdict}</span>"
    worst = (faults[0].id, faults[0].subject, faults[0].message) if faults else ("", "", answer.unread.get(node, ""))
    cells = "".join(f"<td>{escape(text)}</td>" for text in worst[:2])
    return f'<tr><th>{escape(node)}</th><td>{shown}</td>{cells}<td class="text">{escape(worst[2])}</td></tr>'


def _rest(findings: Sequence[Finding]) -> str:
    found = {one.id for one in findings if one.level in LOUD}
    reasons: dict[str, list[str]] = {}
    for one in findings:
        if one.level is Level.UNKNOWN and not one.message.startswith(NOT_READ):
            reasons.setdefault(one.message, []).append(one.id)
    rows = "".join(
        f"<li><code>{escape(', '.join(dict.fromkeys(ids)))}</code>: {escape(text)}</li>"
        for text, ids in reasons.items()
    )
    passed = ", ".join(escape(name) for name in ids_of(findings, Level.PASS) if name not in found)
    unknown = f'<div class="finding UNKNOWN"><p>{badge(Level.UNKNOWN)}</p><ul>{rows}</ul></div>' if rows else ""
    return unknown + (f"<p>{badge(Level.PASS)} {passed}</p>" if passed else "")


def _picture(answer: ClusterAnswer) -> str:
    known = {one.name: one.individual for one in answer.examined}
    gpus = _columns([dict(one.gpus) for one in known.values()])
    nics = _columns([dict(one.nics) for one in known.values()])
    faults = _faults(answer.causes)
    groups: dict[object, list[str]] = {}
    cells: dict[object, Mapping[str, tuple[CellState, str]]] = {}
    for node in answer.nodes:
        if node in answer.unread:
            own = {HOST: (CellState.UNREAD, answer.unread[node])}
        else:
            there = {**dict(known[node].gpus), **dict(known[node].nics)} if node in known else {}
            own = dict(_states(there, [*gpus, *nics] if there else [], faults.get(node, ())))
        key = tuple((name, state) for name, (state, _) in own.items())
        groups.setdefault(key, []).append(node)
        cells.setdefault(key, own)
    rows = [ClusterRow(tuple(nodes), cells[key]) for key, nodes in groups.items()]
    return rails(rows[:MOST_ROWS], [HOST, *gpus, *nics], frozenset(nics), "Rails and nodes")


def _columns(devices_of_nodes: Sequence[Mapping[str, str]]) -> list[str]:
    """The devices that most nodes of some design have: all names, in natural order."""
    counts = Counter(name for its in devices_of_nodes for name in its)
    return sorted(counts, key=natural)


def _faults(causes: Sequence[ClusterCause]) -> Mapping[str, list[Finding]]:
    """WARN and FAIL of each node, with what follows from them."""
    found: dict[str, list[Finding]] = {}
    for cause in causes:
        for one in (cause.found, *cause.consequences):
            if one.finding.level in (Level.FAIL, Level.WARN):
                for name in one.concerned:
                    found.setdefault(name, []).append(one.finding)
    return found


def _states(
    there: Mapping[str, str], columns: Sequence[str], faults: Sequence[Finding]
) -> Iterator[tuple[str, tuple[CellState, str]]]:
    """The state of each column of a node, and of the node as a whole."""
    placed: set[int] = set()
    states: list[tuple[str, tuple[CellState, str]]] = []
    for name in columns:
        names = {name, there.get(name) or name}
        its = [one for one in faults if names & devices(one)]
        placed |= {id(one) for one in its}
        note = f"{name}: {its[0].id}: {its[0].message}" if its else name
        states.append((name, (_state(its) if name in there else CellState.MISSING, note)))
    rest = [one for one in faults if id(one) not in placed]
    yield HOST, (_state(rest), rest[0].message if rest else CLEAN)
    yield from states


def _state(faults: Sequence[Finding]) -> CellState:
    levels = {one.level for one in faults}
    return CellState.FAIL if Level.FAIL in levels else CellState.WARN if levels else CellState.GOOD
