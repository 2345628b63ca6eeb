# SPDX-License-Identifier: Apache-2.0
"""Output of `ibnetdiscover -p`: a line for each port.

CA   140  1 0x00000000001000ff 4x SDR - SW    12 16 0x0000000000200007 ( 'gpu031 mlx5_3' - 'leaf-r3-1' )
SW    12 48 0x0000000000200007 4x SDR 'leaf-r3-1'
"""

import re
from collections.abc import Iterable

from railgauge.topo.fabric.model import End
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.files.lines import text_lines

MARK = re.compile(rb"^(?:SW|CA|RT)\s+\d+\s+\d+ 0x[0-9a-f]{16} ", re.MULTILINE)
SIDE = r"(SW|CA|RT)\s+(\d+)\s+(\d+) 0x([0-9a-f]{16})"
LINE = re.compile(rf"{SIDE} (?:(\d+)x|\S+) (\S+)(?: - {SIDE} \( '(.*)' - '(.*)' \)| '(.*)')")


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add the devices and cables; ports are known by the GUID of the port, which is a switch's own."""
    for line in text_lines(data):
        found = LINE.match(line)
        if not found:
            continue
        kind, lid, port, guid, width, speed, *far = found.groups()
        name = far[4] if far[0] else far[6]
        guid = _side(parts, kind, lid, port, guid, name)
        if far[0]:
            other = _side(parts, far[0], far[1], far[2], far[3], far[5])
            parts.cable(End(guid, port), End(other, far[2]), int(width) if width else None, speed)


def _side(parts: FabricParts, kind: str, lid: str, port: str, guid: str, name: str) -> str:
    key = parts.key(guid)
    part = parts.device(key, name, switch=kind == "SW", listed=True)
    if kind == "SW":
        part.lid = int(lid) or None
        part.ports = max(part.ports, int(port))
        parts.has_lid(key, int(lid))
    else:
        parts.port(key, port, guid, int(lid))
    return key
