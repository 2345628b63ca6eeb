# SPDX-License-Identifier: Apache-2.0
"""A log beside the machine that it is from: fewer channels than it allows, slower ways, and settings that harm it."""

from collections.abc import Iterator

from railgauge.topo.channels.graph import Graph, Policy
from railgauge.topo.errors import Error
from railgauge.topo.facts.sources.nccl_settings import ENVIRONMENT, Setting
from railgauge.topo.findings.cards.parts import CHOICE_DIFFERS, FEWER_CHANNELS
from railgauge.topo.findings.cards.settings import NCCL_SETTING_HARMFUL
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.settings.judgement import judge
from railgauge.topo.findings.settings.verdict import SettingVerdict
from railgauge.topo.jobs.logs.allowed import slower_ways
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.records import Search
from railgauge.topo.jobs.logs.rings import rings
from railgauge.topo.jobs.logs.words import named
from railgauge.topo.machine import Machine
from railgauge.topo.predict.search import search

RING = 4  # NCCL_TOPO_PATTERN_RING
TREES = (1, 2, 3)
LOSS = 0.95  # of the bandwidth: what is above differs by rounding


def beside(log: Log, machine: Machine) -> Iterator[Finding]:
    """What was chosen beside NCCL's choice and the best; the settings of the log as `env` judges them."""
    yield from _graphs(log, machine)
    yield from slower_ways(log, machine)
    yield from _settings(log, machine)


def _graphs(log: Log, machine: Machine) -> Iterator[Finding]:
    found = {rank.bus_id for rank in log.ranks.values() if rank.bus_id}
    gpus = {gpu.id.rpartition("-")[2] for gpu in machine.system.gpus}
    if not (log.searches or log.channels or log.rings) or not gpus or (found and found != gpus):
        return  # of some of its GPUs alone, or of another machine
    nodes = max(log.nodes.values(), default=2 if log.on_several_nodes else 1)
    try:
        nccl, best = (
            search(machine.system, nodes=nodes, policy=one, denied=machine.denied) for one in (Policy.NCCL, Policy.BEST)
        )
    except Error:
        return  # no such graph on this machine, as `graph search` says
    yield from rings(log, machine, nccl.ring)
    if not log.searches:
        yield from _counted(log, nccl.ring, best.ring, nodes)
    for one in log.searches:
        if one.pattern == RING:
            yield from _compared(log, one, "ring", nccl.ring, best.ring, nodes)
        elif one.pattern in TREES:
            yield from _compared(log, one, "tree", nccl.tree, best.tree, nodes)


def _compared(log: Log, one: Search, name: str, nccl: Graph, best: Graph, nodes: int) -> Iterator[Finding]:
    if nodes > 1 and one.cross_nic != nccl.cross_nic:
        message = f"{name}: crossNic {one.cross_nic} was chosen; NCCL's search on this machine has {nccl.cross_nic}"
        yield CHOICE_DIFFERS.finding(Level.INFO, f"{one.host} {name} crossNic", message)
    speed = one.intra if nodes == 1 else min(one.intra, one.inter)
    if one.channels * speed >= LOSS * nccl.total(nodes):
        return
    said = f"{name} on {named([one.host])}: {one.channels} x {speed:g} GB/s was chosen"
    allowed = f"{_figures(nccl, nodes)} is what NCCL finds on this machine, {_figures(best, nodes)} the best"
    file = next(iter(log.topology_files), "")
    why = f"; the log took the machine from {file}" if file else ""
    evidence = {
        "channels": one.channels,
        "gb_per_s": speed,
        "nccl": {"channels": len(nccl.channels), "gb_per_s": nccl.total(nodes)},
        "best": {"channels": len(best.channels), "gb_per_s": best.total(nodes)},
    }
    yield FEWER_CHANNELS.finding(Level.WARN, f"{one.host} {name}", f"{said}; {allowed}{why}", evidence=evidence)


def _counted(log: Log, nccl: Graph, best: Graph, nodes: int) -> Iterator[Finding]:
    """Where the log has no Pattern lines: ranks with fewer channels than the search finds; NCCL only adds to them."""
    for (comm, host, _), (channels, _) in log.channels.items():
        sizes = {rank.size for rank in log.ranks.values() if rank.comm == comm}
        if channels < len(nccl.channels) and (not sizes or min(sizes) >= len(nccl.channels[0].ranks)):
            message = (
                f"{channels} channels for collectives on {named([host])}; NCCL finds {_figures(nccl, nodes)} on this "
                f"machine, {_figures(best, nodes)} is the best"
            )
            yield FEWER_CHANNELS.finding(Level.WARN, f"{host} channels", message)
            return


def _figures(graph: Graph, nodes: int) -> str:
    return f"{len(graph.channels)} x {graph.total(nodes) / len(graph.channels):g} GB/s"


def _settings(log: Log, machine: Machine) -> Iterator[Finding]:
    """Settings of the log that `env` calls harmful on the machine."""
    if machine.facts is None:
        return
    one_value = {name: next(iter(values)) for name, values in log.settings.items() if len(values) == 1}
    settings = tuple(Setting(name=name, value=value, origin=ENVIRONMENT) for name, value in one_value.items())
    under = machine.under(settings)
    for setting in settings:
        opinion = judge(under, setting).opinion
        if opinion.verdict is SettingVerdict.HARMFUL:
            message = f"{setting.name}={setting.value} on this machine: {opinion.why}"
            yield NCCL_SETTING_HARMFUL.finding(Level.WARN, setting.name, message)
