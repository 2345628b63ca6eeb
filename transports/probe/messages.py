# SPDX-License-Identifier: Apache-2.0
"""What the connectivity test says to a node (agent.py) and hears from it, each a line of JSON, in this order."""

from dataclasses import dataclass

from railgauge.topo.findings.cluster.endpoints import Use
from railgauge.topo.findings.cluster.reach import FailedConnection, Rail

Ports = list[int | str]
"""For each of a node's endpoints its port, or why it cannot listen there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachTask:
    """What to try. nodes: the interface, address and uses of each one's endpoints; across: rails of unequal uses."""

    secret: str
    nodes: dict[str, list[tuple[str, str, tuple[Use, ...]]]]
    across: list[Rail]
    within_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """The node listens."""

    ports: Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """All nodes that listen; now they try each other."""

    ports: dict[str, Ports]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachResults:
    """What failed. untried: nodes without time left; filtered: packets that reverse-path filters dropped meanwhile."""

    failures: list[FailedConnection]
    untried: list[str]
    filtered: int
