# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of the channels, compared with NCCL's own choice and the upper bound of any channels."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.channels.graph import Graph, Policy, products
from railgauge.topo.channels.load import overloaded
from railgauge.topo.errors import UnavailableError
from railgauge.topo.findings.cards.graph_file import GRAPH_TOTAL
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, name_of
from railgauge.topo.findings.graph_file.rule import GraphFileRule
from railgauge.topo.predict.search import search


def _check(file: GraphFile) -> Iterator[Finding]:
    nodes, nccl, best = 2 if file.group.leaves else 1, _searched(file, Policy.NCCL), _searched(file, Policy.BEST)
    for element, graph in file.read():
        total, name = graph.total(nodes), name_of(element)
        message = products(len(graph.channels), total)
        evidence: dict[str, Any] = {"gb_per_s": total}
        if worst := next(iter(overloaded(file.group, graph)), None):
            evidence["carried_gb_per_s"] = total / worst.share
            message += f", of which the links carry {total / worst.share:.4g}"
        if graph.slow:
            evidence["real_gb_per_s"] = graph.real_total(nodes)
            message += f"; runs at {graph.real_total(nodes):.4g}: {graph.slow}"
        if name in nccl:
            evidence["nccl_gb_per_s"] = nccl[name].total(nodes)
            message += f"; NCCL would choose {evidence['nccl_gb_per_s']:g}"
        if name in best and (bound := best[name].bound):
            evidence["bound_gb_per_s"] = bound.gb_per_s
            message += f"; upper bound {bound.gb_per_s:.4g} ({bound.why})"
        yield RULE.of_graph(Level.INFO, element, message, **evidence)


def _searched(file: GraphFile, policy: Policy) -> dict[str, Graph]:
    """The ring and tree that a search finds, by name; empty if it finds none."""
    try:
        graphs = search(
            file.system, nodes=file.nodes, policy=policy, steering=file.steering, p2p=file.p2p, denied=file.denied
        )
    except UnavailableError:
        return {}
    return {"ring": graphs.ring, "tree": graphs.tree}


RULE = GraphFileRule(card=GRAPH_TOTAL, check=_check)
