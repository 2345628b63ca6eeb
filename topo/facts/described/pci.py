# SPDX-License-Identifier: Apache-2.0
"""The PCI tree of a described machine: [[pci]] says where the devices of [gpu.*], [nic.*] and [device.*] hang.

A way down is written as bus ids: a root port, then pairs of a switch's upstream and downstream port, then the device:
"+0:01.0 +1:00.0 +2:00.0 +3:00.0", where +1 counts from the bus of the host bridge. A device alone is on the root bus.
"""

import re
from typing import NamedTuple

from railgauge.topo.facts.described.pci_model import PciModel, read_model
from railgauge.topo.facts.described.section import Section

BRIDGE_CLASS = "0x060400"
ROOT = re.compile(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2})")
STEP = re.compile(r"(\+?)([0-9a-f]{1,2}):([0-9a-f]{2}\.[0-7])")
LAST_BUS = 0xFF


class PciNode(NamedTuple):
    """One function in its place in sysfs. kind: the table that describes it, "gpu.h100"; depth: ports above it."""

    bus_id: str
    path: str
    kind: str
    model: PciModel
    numa: int
    depth: int

    @property
    def above(self) -> str:
        """The path of the port above."""
        return self.path.rpartition("/")[0]


PciTree = dict[str, PciNode]  # by path, in the order of the description


def of_kind(tree: PciTree, kind: str) -> list[PciNode]:
    """The functions of a kind, or of all those that begin with "gpu." and so on, in the order of their bus ids."""
    chosen = (node for node in tree.values() if node.kind == kind or (kind[-1] == "." and node.kind.startswith(kind)))
    return sorted(chosen, key=lambda node: node.bus_id)


def read_tree(top: Section, models: dict[str, PciModel]) -> PciTree:
    """All of [[pci]]; `models` by kind ("nic.rail")."""
    port = top.section("port")
    ports = {"port": read_model(port, BRIDGE_CLASS, "pcieport")}
    port.end()
    switches = top.section("switch")
    for name in switches:
        switch = switches.section(name)
        ports[f"switch.{name}"] = read_model(switch, BRIDGE_CLASS, "pcieport")
        switch.end()
    tree: PciTree = {}
    for group in top.sections("pci"):
        _Group(group, tree, ports, models).place()
    return tree


class _Group:
    """One [[pci]]: the same devices below each of its host bridges."""

    def __init__(
        self, section: Section, tree: PciTree, ports: dict[str, PciModel], models: dict[str, PciModel]
    ) -> None:
        self.section = section
        self.tree = tree
        self.ports = ports
        self.models = models
        self.by_name = {kind.partition(".")[2]: kind for kind in models}
        self.switches = [f"switch.{name}" for name in section.texts("switch")]

    def place(self) -> None:
        """Put every device of the group below every host bridge of it."""
        roots = self.section.texts("root")
        numa = self.section.integers("numa") or (-1,)
        if len(numa) not in (1, len(roots)):
            raise self.section.wrong("numa", f"has {len(numa)} nodes for {len(roots)} roots: give one, or one for each")
        for i, root in enumerate(roots):
            for name in self.section:
                if name not in ("root", "numa", "switch"):
                    self._device(name, root, numa[i % len(numa)])

    def _device(self, name: str, root: str, numa: int) -> None:
        if name not in self.by_name:
            raise self.section.wrong(name, f"no [gpu.{name}], [nic.{name}] or [device.{name}] describes it")
        found = ROOT.fullmatch(root)
        if not found:
            raise self.section.wrong("root", f"is {root!r}, expected the bus of a host bridge, e.g. 3d or 0009:00")
        for way in self.section.texts(name):
            self._way(name, way.split(), found[1] or "0000", int(found[2], 16), numa)

    def _way(self, name: str, steps: list[str], domain: str, bus: int, numa: int) -> None:
        if len(steps) > 1 and len(steps) % 2:
            raise self.section.wrong(
                name, "expected a root port, pairs of switch ports and the device, or the device alone"
            )
        path = f"/sys/devices/pci{domain}:{bus:02x}"
        for depth, step in enumerate(steps):
            bus_id = f"{domain}:{self._step(name, step, bus)}"
            path += f"/{bus_id}"
            last = depth == len(steps) - 1
            if last and path in self.tree:
                raise self.section.wrong(name, f"{bus_id} is there twice")
            kind = self.by_name[name] if last else self._port(name, depth)
            model = self.models[kind] if last else self.ports[kind]
            node = PciNode(bus_id=bus_id, path=path, kind=kind, model=model, numa=numa, depth=depth)
            self.tree.setdefault(path, node)

    def _step(self, name: str, step: str, bus: int) -> str:
        found = STEP.fullmatch(step)
        number = int(found[2], 16) + (bus if found[1] else 0) if found else LAST_BUS + 1
        if not found or number > LAST_BUS:
            raise self.section.wrong(
                name, f"{step!r}: expected a place such as 3b:00.0, or +3:00.0 relative to the root bus"
            )
        return f"{number:02x}:{found[3]}"

    def _port(self, name: str, depth: int) -> str:
        """The kind of the port at that depth: the root port, then the group's switches level by level."""
        if depth == 0:
            return "port"
        level = (depth - 1) // 2
        if level >= len(self.switches) or self.switches[level] not in self.ports:
            raise self.section.wrong(name, f"goes through {level + 1} switches: name each of them in `switch`")
        return self.switches[level]
