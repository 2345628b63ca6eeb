# SPDX-License-Identifier: Apache-2.0
"""A tree of switches with nodes below, as schedulers and clouds describe it: it names neither NICs nor speeds.

It becomes a fabric with one port for each node; the port of a switch bears the name of what is below it.
"""

from railgauge.topo.fabric.model import End
from railgauge.topo.fabric.parts import FabricParts

UP = "up"
"""The port of a node or switch to what is above."""


def add_switch(parts: FabricParts, name: str, above: str = "") -> None:
    """A switch, below another."""
    parts.device(name, name, switch=True, listed=True)
    if above:
        parts.device(above, above, switch=True)
        _cable(parts, above, name)


def add_node(parts: FabricParts, name: str, above: str) -> None:
    """A node on a leaf."""
    part = parts.device(f"node {name}", name, switch=False, listed=True)
    part.node = name
    _cable(parts, above, f"node {name}")


def _cable(parts: FabricParts, above: str, below: str) -> None:
    parts.cable(End(below, UP), End(above, below))
