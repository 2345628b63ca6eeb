# SPDX-License-Identifier: Apache-2.0
"""Output of `iblinkinfo`: a heading for each device and a line for each port; with -l the line names the device.

Switch: 0x0000000000200007 leaf-r3-1:
          12    1[  ] ==( 4X  10.0 Gbps Active/  LinkUp)==>      80    1[  ] "gpu016 mlx5_3" ( )
          12   17[  ] ==(                Down/ Polling)==>             [  ] "" ( )
"""

import re
from collections import Counter
from collections.abc import Iterable

from railgauge.topo.fabric.model import End
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.fabric.rates import NAME_OF_GBPS
from railgauge.topo.files.lines import text_lines

MARK = re.compile(rb"==\(.*\)==>", re.MULTILINE)
MOST_OF_NIC = 2
"""Ports of a NIC; with -l nothing else tells it from a switch."""
HEAD = re.compile(r"(Switch|CA|Router):?\s+(?:0x([0-9a-f]{1,16})\s+)?(.*):\s*$")
LINE = re.compile(
    r'\s*(?:0x(?P<guid>[0-9a-f]{1,16})\s+)?(?:"(?P<name>[^"]*)"\s+)?(?P<lid>\d+)\s+(?P<port>\d+)\[[^]]*\]\s*'
    r"==\(\s*(?:(?P<width>\d+)X\s+(?P<speed>[\d.]+) Gbps|[^)]*?)\s*(?P<state>\w+)/\s*(?P<physical>\w+)\)==>\s*"
    r'(?:0x(?P<far_guid>[0-9a-f]{1,16})\s+)?(?:(?P<far_lid>\d+)\s+(?P<far_port>\d+))?\s*\[[^]]*\]\s*"(?P<far>[^"]*)"'
    r"\s*(?:\((?P<better>.*)\))?"
)


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add devices and cables. The far end is known by its GUID (-l), else by its LID, or by its name."""
    key, name, is_switch, names, lids = "", "", True, dict[str, str](), dict[int, str]()
    found = []
    for line in text_lines(data):
        if head := HEAD.match(line):
            is_switch, name, key = head[1] == "Switch", head[3].strip(), parts.key(head[2]) if head[2] else ""
            if key:
                parts.device(key, name, switch=is_switch, listed=True)
                names.setdefault(name, key)
        elif (port := LINE.match(line)) and (own := parts.key(port["guid"]) if port["guid"] else key):
            parts.device(own, (port["name"] or name).strip(), listed=True)
            if not port["guid"]:
                parts.devices[own].is_switch = is_switch
            lid = int(port["lid"])
            lids.setdefault(lid, own)
            parts.has_lid(own, lid)
            names.setdefault((port["name"] or name).strip(), own)
            found.append((own, port))
    listed = Counter(own for own, _ in found)
    for own, port in found:
        part = parts.devices[own]
        part.is_switch |= listed[own] > MOST_OF_NIC
        part.ports = max(part.ports, int(port["port"]))
        if part.is_switch:
            part.lid = int(port["lid"]) or None
        else:
            address = port["guid"].zfill(16) if port["guid"] else ""
            parts.port(own, port["port"], address, int(port["lid"]))
        if port["far_port"]:
            _cable(parts, own, port, names, lids)


def _cable(parts: FabricParts, own: str, port: re.Match[str], names: dict[str, str], lids: dict[int, str]) -> None:
    far = parts.key(port["far_guid"]) if port["far_guid"] else ""
    far_lid = int(port["far_lid"])
    far = far or lids.get(far_lid) or parts.key_of_lid.get(far_lid, "") or names.get(port["far"], port["far"])
    parts.device(far, port["far"])
    better = (port["better"] or "").strip()
    parts.cable(
        End(own, port["port"]),
        End(far, port["far_port"]),
        int(port["width"]) if port["width"] else None,
        NAME_OF_GBPS.get(port["speed"] or "", ""),
        state=port["state"],
        better=better,
    )
