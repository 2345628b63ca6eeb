# SPDX-License-Identifier: Apache-2.0
"""What no all-reduce by NVLS exceeds, whatever part of the data each head has; with its proof.

GPU g with the part s of the data as a head sends all data once (reduced on the way to the heads) and s again (multicast
to all), and receives as much: 1 + s. The parts add up to 1, so that over n GPUs the links pass n + 1 times the data, a
ring nearly 2 n times. Several nodes exchange 2 (N - 1) / N of the data by their NICs, as much in and out, unless the
network reduces: then all of it once.
"""

from railgauge.topo.channels.graph import Bound
from railgauge.topo.nccl.graph.model import Link, LinkKind, NodeKind
from railgauge.topo.predict.nvls_graph import NvlsGraph, graph_of, switch_links
from railgauge.topo.predict.plan import NodePlan

DIGITS = 9


def nvls_found(plan: NodePlan) -> tuple[NvlsGraph, Bound] | None:
    """The heads and the bound; None where NCCL has no NVLS."""
    graph = graph_of(plan)
    return (graph, nvls_bound(plan)) if graph else None


def nvls_bound(plan: NodePlan) -> Bound:
    """The bound on the algorithm bandwidth, bytes over time. Weights are of links in one direction: any choice of parts
    loads them with at least 1 in all, and weight x capacity adds up to the bound.
    """
    switches = {node.id for node in plan.system.kind(NodeKind.NVS)}
    out = [link for link in switch_links(plan) if link.target in switches]
    evenly = dict.fromkeys(out, 1 / (plan.per_node + 1))
    least = min(out, key=lambda link: link.gb_per_s)
    proofs = [
        (evenly, "NVLinks: each GPU sends all data, and a head its part again"),
        ({least: 1.0}, f"NVLinks of {_gpu(least)}: each GPU sends all data"),
    ]
    if plan.nodes > 1:
        often = 1.0 if plan.steering.collnet else 2 * (plan.nodes - 1) / plan.nodes
        for name, links in (("NICs", _to_nets(plan)), ("links of GPUs to NICs", _from_gpus(plan))):
            proofs.append((dict.fromkeys(links, 1 / often), f"{name}: a node sends {often:.4g} x the data"))
    weights, why = min(proofs, key=lambda proof: _total(proof[0]))
    listed = tuple((link.source, link.target, round(weight, DIGITS)) for link, weight in weights.items())
    return Bound(gb_per_s=round(_total(weights), DIGITS - 3), why=why, weights=listed)


def _total(weights: dict[Link, float]) -> float:
    return sum(link.gb_per_s * round(weight, DIGITS) for link, weight in weights.items())


def _to_nets(plan: NodePlan) -> list[Link]:
    """The links that lead out of the node."""
    node = plan.system.node
    return [link for link in plan.system.links if link.kind is LinkKind.NET and node(link.target).kind is NodeKind.NET]


def _from_gpus(plan: NodePlan) -> list[Link]:
    """The links that lead from the GPUs' cards elsewhere than to GPUs: what leaves the node leaves one of them."""
    cards = {link.source for link in switch_links(plan)}
    return [link for link in plan.system.links if link.source in cards and link.kind in (LinkKind.PCI, LinkKind.C2C)]


def _gpu(link: Link) -> str:
    return f"GPU/{link.source.removeprefix('DEV/')}"
