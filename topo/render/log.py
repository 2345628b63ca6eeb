# SPDX-License-Identifier: Apache-2.0
"""A log, explained: as text for people and as the content of a railgauge/log/1 document."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from railgauge.topo.findings.finding import Finding
from railgauge.topo.jobs.logs.connections import LoggedConnection
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.records import Search
from railgauge.topo.jobs.logs.verdict import LogVerdict
from railgauge.topo.render import findings
from railgauge.topo.render.judge import judge_document, judge_lines
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.spans import listed

MOST_ROWS = 48  # lines of a part; the JSON document has all
PATTERNS = {1: "balanced tree", 2: "split tree", 3: "tree", 4: "ring", 5: "NVLS", 6: "collnet direct"}


def log_document(log: Log, verdict: LogVerdict, allowed: Iterable[str] = ()) -> dict[str, Any]:
    """The content of a railgauge/log/1 document, without its head."""
    return {
        "verdict": verdict.text,
        "rdma": verdict.rdma,
        "gdr": verdict.gdr,
        "releases": sorted(log.releases),
        "nodes": [_node(log, host) for host in log.hosts],
        "ranks": [
            {"comm": one.comm, "rank": one.rank, "size": one.size, "node": one.host}
            | {"device": one.device, "bus_id": one.bus_id or None}
            for one in log.ranks.values()
        ],
        "settings": [
            {"name": name, "value": value, "nodes": sorted(hosts)}
            for name, values in log.settings.items()
            for value, hosts in values.items()
        ],
        "channels": [
            {"collective": coll, "nvls": nvls, "ranks": times}
            for (coll, nvls), times in Counter(log.channels.values()).most_common()
        ],
        "rings": [{"channel": channel, "ranks": list(ranks)} for channel, ranks in sorted(log.rings.items())],
        "trees": [
            {"channel": channel, "parents": [[rank, parent] for rank, parent in sorted(parents.items())]}
            for channel, parents in sorted(log.trees.items())
        ],
        "searches": [_search(one) for one in log.searches],
        "connections": [_connection(one) for one in log.connections.kept],
        "connections_beyond": log.connections.beyond.total(),
        "allowed": list(allowed),
        "tables": judge_document(verdict.judged)["tables"],
        "findings": [findings.record(finding) for finding in verdict.findings],
    }


def _node(log: Log, host: str) -> dict[str, Any]:
    return {
        "name": host,
        "releases": sorted(release for release, hosts in log.releases.items() if host in hosts),
        "networks": sorted(log.networks.get(host, ())),
        "rdma_devices": list(log.devices.get(host, {}).get("IB", ())),
        "interfaces": list(log.devices.get(host, {}).get("Socket", ())),
        "bootstrap": log.bootstraps.get(host),
    }


def _search(one: Search) -> dict[str, Any]:
    return {
        "node": one.host,
        "pattern": one.pattern,
        "channels": one.channels,
        "gb_per_s_intra": one.intra,
        "gb_per_s_inter": one.inter,
        "type_intra": one.type_intra,
        "type_inter": one.type_inter or None,
        "cross_nic": one.cross_nic,
    }


def _connection(one: LoggedConnection) -> dict[str, Any]:
    return {
        "channel": None if one.channel < 0 else one.channel,
        "from": one.source,
        "to": one.target,
        "via": one.via,
        "end": one.end or None,
        "gdr": one.gdr if one.transport.startswith("NET/") else None,
        "node": one.host,
        "comm": one.comm,
    }


def log_lines(log: Log, verdict: LogVerdict, allowed: Iterable[str] = ()) -> Iterator[Line]:
    """The explanation without its findings: a header where the log names a host, rank or release, the verdict, and
    what is behind it, each part with an empty line below.
    """
    if log.hosts or log.ranks or log.releases:
        yield line(log_header(log), Ink.HEADING)
        yield line("")
    parts = (
        ("", [verdict.text]),
        ("nodes", _nodes(log)),
        ("ranks", _ranks(log)),
        ("settings", _settings(log)),
        ("channels", _channels(log)),
        ("connections", _connections(log)),
        ("what the topology allows", list(allowed)),
        ("how to confirm the causes", _next(verdict.findings)),
    )
    for title, rows in parts:
        if rows:
            yield from map(line, (*_part(title, rows), ""))
    for one in verdict.judged:
        yield from (*judge_lines(one), line(""))


def log_header(log: Log) -> str:
    """Hosts, ranks, GPUs and NCCL's releases, as far as the log has them."""
    hosts = list(log.hosts)
    ranks = {(one.comm, one.rank) for one in log.ranks.values()}
    gpus = {(one.host, one.bus_id) for one in log.ranks.values() if one.bus_id}
    largest = max(Counter(comm for comm, _ in ranks).values(), default=0)
    parts = [
        f"{len(hosts)} node{'' if len(hosts) == 1 else 's'} ({folded(hosts)})" if hosts else "node not logged",
        f"{largest} rank{'' if largest == 1 else 's'}" if largest else "ranks not logged",
        f"{len(gpus)} GPU{'' if len(gpus) == 1 else 's'}" if gpus else "",
        ", ".join(sorted(log.releases)) or "NCCL release not logged",
    ]
    return f"log: {', '.join(filter(None, parts))}"


def _part(title: str, rows: list[str]) -> Iterator[str]:
    if title:
        yield title
    yield from (f"  {row}" if title else row for row in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        yield f"  and {len(rows) - MOST_ROWS} more (--json has all)"


def _next(findings: Iterable[Finding]) -> list[str]:
    """The checks on the machines that distinguish causes of the same lines, and the command that explains each."""
    named = {name for one in findings for name in (one.id, *one.evidence.get("other_causes", ()))}
    if not named:
        return []
    from railgauge.topo.findings.node.rules import RULES

    options = " ".join(f"--only {rule.id}" for rule in RULES if rule.id in named)
    look = [f"on the machines: railgauge check {options}"] if options else []
    return [*look, "about each finding: railgauge explain ID"]


def _nodes(log: Log) -> list[str]:
    """A line for each set of nodes with the same facts."""
    same: defaultdict[str, list[str]] = defaultdict(list)
    for host in log.hosts:
        node = _node(log, host)
        said = [*node["releases"]]
        said += [f"network {name}" for name in node["networks"]]
        said += [f"RDMA {' '.join(node['rdma_devices'])}"] if node["rdma_devices"] else []
        said += ["no RDMA device"] if host in log.without_rdma else []
        same[", ".join(said) or "release and network not logged"].append(host)
    rows = [f"{folded(hosts)}: {said}" for said, hosts in same.items()]
    unnamed = [release for release, hosts in log.releases.items() if hosts == {""}]
    return [*rows, *(f"release: {release}" for release in unnamed)]


def _ranks(log: Log) -> list[str]:
    """A line for each communicator and node."""
    places: defaultdict[tuple[str, int, str], list[int]] = defaultdict(list)
    for one in log.ranks.values():
        places[one.comm, one.size, one.host].append(one.rank)
    return [
        f"{listed(sorted(ranks))} of {size} on {host or 'an unnamed node'} (communicator {comm})"
        for (comm, size, host), ranks in places.items()
    ]


def _settings(log: Log) -> list[str]:
    return [f"{name}={value}" for name, values in sorted(log.settings.items()) for value in sorted(values)]


def _channels(log: Log) -> list[str]:
    counts = Counter(log.channels.values())
    rows = [
        f"{coll} for collectives{'' if nvls is None else f', {nvls} for NVLS'} (ranks that log it: {times})"
        for (coll, nvls), times in counts.most_common()
    ]
    rows += [
        f"found on {one.host}: {one.channels} x {PATTERNS.get(one.pattern, f'pattern {one.pattern}')} of "
        f"{one.intra:g} GB/s within a node, {one.inter:g} between nodes, types {one.type_intra}/{one.type_inter}"
        for one in log.searches
    ]
    rows += [f"ring {channel}: {' -> '.join(map(str, ranks))}" for channel, ranks in sorted(log.rings.items())]
    for channel, parents in sorted(log.trees.items()):
        ups = ", ".join(f"{rank} under {parent}" for rank, parent in sorted(parents.items()) if parent >= 0)
        rows.append(f"tree {channel}: {ups or 'one rank'}")
    return rows


def _connections(log: Log) -> list[str]:
    """A line for each pair and way, the channels folded."""
    folded: defaultdict[tuple[str, int, int, str, str], list[int]] = defaultdict(list)
    for one in log.connections.kept:
        gdr = "" if one.gdr or not one.transport.startswith("NET/") or one.transport == "NET/Socket" else ", no GDR"
        folded[one.comm, one.source, one.target, one.end, one.via + gdr].append(one.channel)
    rows = []
    for (_, source, target, end, via), channels in folded.items():
        known = tuple(sorted({channel for channel in channels if channel >= 0}))
        name = f"{'channel' if len(known) == 1 else 'channels'} {listed(known)}: " if known else ""
        rows.append(f"{name}{source} -> {target}{f' [{end}]' if end else ''} via {via}")
    beyond = log.connections.beyond.total()
    return [*rows, *([f"{beyond} more, counted but not kept"] if beyond else [])]
