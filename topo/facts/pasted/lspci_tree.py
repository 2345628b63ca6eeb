# SPDX-License-Identifier: Apache-2.0
r"""`lspci -t` and -tv: the tree of buses, drawn with + and \\ in the column of the bus that devices are on.

-+-[0000:40]-+-01.1-[41-44]----00.0-[42-44]--+-00.0-[43]----00.0  NVIDIA Corporation GH100
 |           |                               \-01.0-[44]----00.0  Mellanox Technologies ConnectX-7
"""

import re

from railgauge.topo.facts.pasted.host import PastedFunction, PastedHost
from railgauge.topo.facts.pasted.lspci_line import describe

START = re.compile(r"[ |]*(?=[-+\\])")
WIRES = re.compile(r"[-+\\]+")
BUS = re.compile(r"\[(?:([0-9a-f]{4,8}):)?([0-9a-f]{2})(?:-[0-9a-f]{2})?\]")
FUNCTION = re.compile(r"([0-9a-f]{2}\.[0-7])(?=-\[|\s|$)")
ROOT = re.compile(r"^[ |]*[-+\\]+\[[0-9a-f]{4,8}:[0-9a-f]{2}", re.MULTILINE)
Bus = tuple[str, str, str]
"""A bus: its domain, its number, and the bus id of the bridge above, "" for a root bus."""


def read(text: str, host: PastedHost) -> str:
    """Add the devices of a tree; "" if the text has none."""
    if not ROOT.search(text):
        return ""
    branches: dict[int, Bus | None] = {}
    found = False
    for line in text.splitlines():
        found = _line(line, branches, host) or found
    return "lspci -t" if found else ""


def _line(line: str, branches: dict[int, Bus | None], host: PastedHost) -> bool:
    start = START.match(line)
    if start is None:
        return False
    at = start.end()
    bus, bridge = branches.get(at), ""
    found = False
    while wires := WIRES.match(line, at):
        if "+" in wires[0]:
            branches[at + wires[0].index("+")] = bus
        at = wires.end()
        if named := BUS.match(line, at):
            domain, number = named.groups()
            bus = ((domain or "")[-4:], number, "") if domain else (bus[0], number, bridge) if bus else None
            at = named.end()
        elif bus and (place := FUNCTION.match(line, at)):
            function = host.function(f"{bus[0]}:{bus[1]}:{place[1]}")
            function.above, function.root_bus = bus[2], "" if bus[2] else f"{bus[0]}:{bus[1]}"
            bridge, at, found = function.bus_id, place.end(), True
            _describe(function, line[at:])
        else:
            break
    return found


def _describe(function: PastedFunction, rest: str) -> None:
    bridge = rest.startswith("-[")
    if bridge or rest.strip():
        describe(function, "" if bridge else rest.strip(), bridge=bridge)
