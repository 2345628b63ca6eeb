# SPDX-License-Identifier: Apache-2.0
"""Output of `ibnetdiscover`, and ibsim's network files, which have the same form.

    switchguid=0x200007(200007)
    Switch  64 "S-0000000000200007"         # "leaf-r3-1" base port 0 lid 12 lmc 0
    [1]     "H-0000000000100086"[1](100087)         # "gpu016 mlx5_3" lid 80 4xSDR
"""

import re
from collections.abc import Iterable

from railgauge.topo.fabric.model import End
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.values.number import whole

MARK = re.compile(rb'^(?:Switch|Ca|Hca|Rt)\s+\d+\s+"', re.MULTILINE)
HEAD = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?(.*)')
PORT = re.compile(
    r'\[(\d+)\](?:\[\w+\])?\s*(?:\(([0-9a-f]+)\))?\s*"([^"]+)"\s*\[?(\d+)?\]?(?:\[\w+\])?(?:\(([0-9a-f]+)\))?(.*)'
)
NAMED = re.compile(r'"([^"]*)"')
LID = re.compile(r"\blid (\d+)")
OWN_LID = re.compile(r"# lid (\d+)")
LINK = re.compile(r"\b(\d+)x([A-Z]+\d*)")
NODE = re.compile(r"[SHR]-([0-9a-fA-F]{16})")
SYSTEM = "sysimgguid=0x"
GUIDS = ("switchguid=0x", "caguid=0x", "rtguid=0x")


def read(lines: Iterable[str], parts: FabricParts) -> None:
    """Add the devices and cables. A line of no known form ends a record."""
    key, system, is_switch, where = "", "", False, 0
    for number, line in enumerate(lines, 1):
        if line.startswith("["):
            if key:
                _port(line, key, parts, switch=is_switch)
        elif line.startswith(SYSTEM):
            system = line[len(SYSTEM) :].strip().zfill(16)
        elif found := HEAD.match(line):
            where = number
            key, is_switch = key_of(found[3]), found[1] == "Switch"
            part = parts.device(key, found[4] or found[3].strip(), switch=is_switch, listed=True)
            if part.ports:
                parts.holder(key, f"{found[4] or key} (line {where})")
            part.ports, part.system, system = whole(found[2]) or 0, system, ""
            parts.holder(key, found[4] or key)
            if is_switch and (lid := LID.search(found[5])):
                part.lid = int(lid[1]) or None
                parts.key_of_lid.setdefault(int(lid[1]), key)
        elif not line.strip():
            key = ""


def key_of(name: str) -> str:
    """The GUID in "S-0000000000200007"; of a network file without GUIDs the name."""
    found = NODE.fullmatch(name)
    return found[1].lower() if found else name


def _port(line: str, key: str, parts: FabricParts, *, switch: bool) -> None:
    found = PORT.match(line)
    if not found:
        return
    port, own, name, far_port, far_guid, rest = found.groups()
    other = key_of(name)
    is_switch = name[:2] == "S-" if NODE.fullmatch(name) else None
    described = NAMED.search(rest)
    far = parts.device(other, described[1] if described else "", switch=is_switch)
    lids = [int(lid) for lid in LID.findall(rest)]
    if not switch:
        mine = OWN_LID.search(rest)
        parts.port(key, port, own.zfill(16) if own else "", int(mine[1]) if mine else None)
        parts.holder(own.zfill(16), f"{parts.devices[key].name}") if own and own.zfill(16) != key else None
    if far_guid and not far.is_switch:
        parts.port(other, far_port or "1", far_guid.zfill(16), lids[-1] if lids else None)
    link = LINK.search(rest)
    width, speed = (int(link[1]), link[2]) if link else (None, "")
    parts.cable(End(key, port), End(other, far_port or "1"), width=width, speed=speed)
