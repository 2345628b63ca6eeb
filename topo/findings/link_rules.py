# SPDX-License-Identifier: Apache-2.0
"""What there is to tell of findings about measured links (`link`, `cluster link`): collectives/link/judgement.py finds
them, since it takes ranks that move bytes.
"""

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.rule import Rule

LEVELS = (Level.FAIL, Level.WARN, Level.UNKNOWN)
READS = ("messages timed between all pairs of ranks",)


def _rule(name: str, title: str, about: str, remedy: str, sure: str, levels: tuple[Level, ...] = LEVELS) -> Rule:
    return Rule(
        id=name,
        title=title,
        levels=levels,
        about=about,
        passes="nobody stands out",
        reads=READS,
        sure=sure,
        remedy=remedy,
        needs=(),
        concerns=lambda _: False,  # a machine alone has no links to others
        check=lambda _: (),
    )


SLOW_NODE = _rule(
    "slow-node",
    "Most links of a rank or node are slower than those of the others",
    "A ring is as fast as its slowest link, so that one slow node makes all of them slow. Most of its links, when it "
    "sends or when it receives, are below three quarters of what others have, each time that they are measured; FAIL "
    "below half.",
    "look at its NIC (`railgauge check`: width, rate, errors), its cable, and what else runs on its cores",
    "railgauge cluster link --one-at-a-time; railgauge cluster link --bisect",
)
SLOW_LINK = _rule(
    "slow-link",
    "The link between two ranks or nodes is slower than others of its kind, and neither end is slow elsewhere",
    "A ring that goes over it is as fast as it is. One or both directions are below three quarters of what "
    "others have, each time that they are measured; FAIL below half.",
    "look at cables, optics and switch ports between them; that link alone: `railgauge link A B`",
    "railgauge link A B",
)
NODE_LATENCY = _rule(
    "node-latency",
    "Most answers of a rank or node take longer than those of the others",
    "Short collectives are as quick as their slowest rank. The cause is more often cores than the network: another "
    "program on them, deep sleep states, interrupts on a far NUMA node.",
    SLOW_NODE.remedy,
    "railgauge cluster link --one-at-a-time -b 8",
    (Level.WARN, Level.UNKNOWN),
)
LINK_LATENCY = _rule(
    "link-latency",
    "Answers between two ranks or nodes take longer than those of other pairs of their kind",
    "Short collectives are as quick as their slowest link. Between hosts a longer way through the switches shows so.",
    SLOW_LINK.remedy,
    "railgauge link A B -b 8",
    (Level.WARN, Level.UNKNOWN),
)
RULES = (SLOW_NODE, SLOW_LINK, NODE_LATENCY, LINK_LATENCY)
