# SPDX-License-Identifier: Apache-2.0
"""What the channels of a graph run at: NCCL plans with what links can do, and all channels wait for the slowest."""

from dataclasses import replace

from railgauge.topo.channels.graph import Graph, Graphs
from railgauge.topo.channels.group import RankGroup
from railgauge.topo.channels.load import loads
from railgauge.topo.nccl.graph.link_names import runs_text


def with_running(group: RankGroup, graphs: Graphs) -> Graphs:
    """The graphs with what they run at on the links of their machine."""
    if not group.system.slow:
        return graphs
    return replace(graphs, ring=_running(group, graphs.ring), tree=_running(group, graphs.tree))


def _running(group: RankGroup, graph: Graph) -> Graph:
    found = loads(group, graph)
    worst = max(found, key=lambda load: load.real_share, default=None)
    planned = max([1.0, *(load.share for load in found)])
    if worst is None or worst.real_share <= planned:
        return graph
    return replace(graph, running=planned / worst.real_share, slow=runs_text(group.system, worst.link))
