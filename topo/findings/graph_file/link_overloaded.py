# SPDX-License-Identifier: Apache-2.0
"""Links that the channels load beyond their bandwidth, with NCCL's routes and overheads; equal ones in one finding.

NCCL's own search overloads none. A file that needs more than twice a link's bandwidth was made for another machine.
Where the topology does not say what a link carries, whether it is overloaded stays unknown.
"""

from collections.abc import Iterator

from railgauge.topo.channels.load import alike, ends_of, overloaded
from railgauge.topo.findings.cards.graph_file import LINK_OVERLOADED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule

FAR_BEYOND = 2.0  # times the bandwidth of a link
UNSAID = ", of which the topology does not say the speed or the width"


def _check(file: GraphFile) -> Iterator[Finding]:
    for element, graph in file.read():
        total = graph.total(2 if file.group.leaves else 1)
        for group in alike(overloaded(file.group, graph)):
            first = group[0]
            level = Level.FAIL if first.share > FAR_BEYOND else Level.WARN
            unsaid = any(load.link.assumed for load in group)
            yield RULE.of_graph(
                Level.UNKNOWN if unsaid else level,
                element,
                f"{first.gb_per_s:.4g} of {first.link.gb_per_s:.4g} GB/s, {first.share:.0%}, on {ends_of(group)}"
                + (UNSAID if unsaid else ""),
                effect=f"{total:g} -> {total / first.share:.3g} GB/s",
                links=[[load.link.source, load.link.target] for load in group],
                gb_per_s=round(first.gb_per_s, 6),
                capacity_gb_per_s=first.link.gb_per_s,
            )


RULE = GraphFileRule(card=LINK_OVERLOADED, check=_check)
