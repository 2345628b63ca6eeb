# SPDX-License-Identifier: Apache-2.0
"""One step of a joined channel, from a rank to another, within a node or over the network."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """From rank `source` to rank `target` of the whole job.

    `nets`: the NIC that it leaves by and the one that it enters by, by dev number; None within a node. `leaves_rail`:
    these are on different rails (`Member.rail`).
    """

    source: int
    target: int
    nets: tuple[int, int] | None = None
    leaves_rail: bool = False

    def reversed(self) -> "Edge":
        """The reverse step, by the same NICs."""
        nets = self.nets and (self.nets[1], self.nets[0])
        return Edge(source=self.target, target=self.source, nets=nets, leaves_rail=self.leaves_rail)
