# SPDX-License-Identifier: Apache-2.0
"""opensm-subnet.lst, which OpenSM writes: both ends of a link on each line. Ports are in hexadecimal.

{ SW-SM Ports:40 SystemGUID:... NodeGUID:... PortGUID:... {leaf} LID:0001 PN:28 } { SW ... } PHY=4x LOG=ACT SPD=2.5
"""

import re
from collections.abc import Iterable

from railgauge.topo.fabric.model import End
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.fabric.rates import NAME_OF_GBPS
from railgauge.topo.files.lines import text_lines

MARK = re.compile(rb"^\{ (?:SW|CA|Rt)\S* Ports:", re.MULTILINE)
SIDE = re.compile(
    r"\{ (SW|CA|Rt)(-SM)? Ports:([0-9a-fA-F]+) SystemGUID:([0-9a-f]{16}) NodeGUID:([0-9a-f]{16}) "
    r"PortGUID:([0-9a-f]{16}) .*?\{(.*?)\} LID:([0-9a-fA-F]+) PN:([0-9a-fA-F]+) \}"
)
LINK = re.compile(r"PHY=(\d+)x LOG=(\w+) SPD=([\d.]+)")
STATES = {"ACT": "Active", "INI": "Initialize", "ARM": "Armed", "DWN": "Down"}


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add the devices, the cables, and which device has a subnet manager."""
    for line in text_lines(data):
        sides = list(SIDE.finditer(line))
        if len(sides) != 2:
            continue
        one, other = (_side(parts, side) for side in sides)
        link = LINK.search(line)
        parts.cable(
            one,
            other,
            width=int(link[1]) if link else None,
            speed=_speed(link[3]) if link else "",
            state=STATES.get(link[2], link[2]) if link else "",
        )


def _side(parts: FabricParts, side: re.Match[str]) -> End:
    kind, manager, ports, system, node, address, name, lid, port = side.groups()
    part = parts.device(node, name, switch=kind == "SW", listed=True)
    part.ports, part.system, number = int(ports, 16), system, str(int(port, 16))
    if kind == "SW":
        part.lid = int(lid, 16) or None
        parts.has_lid(node, int(lid, 16))
    else:
        parts.port(node, number, address, int(lid, 16))
    parts.managers = parts.managers or set()
    if manager:
        parts.managers.add(node)
    return End(node, number)


def _speed(text: str) -> str:
    """OpenSM prints 14, 25, 50 and 100 without fractions."""
    return NAME_OF_GBPS.get(text) or {"5": "DDR", "10": "QDR", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR"}.get(
        text, ""
    )
