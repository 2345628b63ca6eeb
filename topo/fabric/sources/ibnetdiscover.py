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
from railgauge.topo.files.lines import text_lines
from railgauge.topo.values.number import whole

MARK = re.compile(rb'^(?:Switch|Ca|Hca|Rt)\s+\d+\s+"', re.MULTILINE)
KINDS = ("Switch", "Ca", "Hca", "Rt")
HEAD = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?(.*)')
PORT = re.compile(
    r'\[(\d{1,3})\](?:\[\w+\])?\s*(?:\(([0-9a-f]{1,16})\))?\s*"([^"]+)"\s*(?:\[(\d{1,3})\](?:\[\w+\])?)?'
    r'(?:\(([0-9a-f]{1,16})\))?\s*(?:#\s*(?:lid (\d{1,5}) lmc \d+\s*)?(?:"([^"]*)")?\s*(?:lid (\d{1,5}))?\s*'
    r"(?:(\d{1,2})x([A-Z]+\d*))?)?"
)
"""Own port, port GUID, name across, its port and port GUID, own LID, description and LID across, width and speed."""
LID = re.compile(r"\blid (\d{1,5})")
NODE = re.compile(r"[SHR]-([0-9a-fA-F]{16})")
LENGTH = len("S-0123456789abcdef")
SYSTEM = "sysimgguid=0x"


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add the devices and cables. A line of no known form ends a record."""
    key, system, is_switch = "", "", False
    for number, line in enumerate(text_lines(data), 1):
        if line.startswith("["):
            if key:
                _port(line, key, parts, switch=is_switch)
        elif line.startswith(SYSTEM):
            system = line[len(SYSTEM) :].strip().zfill(16)
        elif line.startswith(KINDS) and (found := HEAD.match(line)):
            key, is_switch = key_of(found[3]), found[1] == "Switch"
            part = parts.device(key, found[4] or found[3].strip(), switch=is_switch, listed=True)
            if part.ports:
                parts.holder(key, f"{found[4] or key} (line {number})")
            part.ports, part.system, system = whole(found[2]) or 0, system, ""
            parts.holder(key, found[4] or key)
            if is_switch and (lid := LID.search(found[5])):
                part.lid = int(lid[1]) or None
                parts.has_lid(key, int(lid[1]))
        elif not line.strip():
            key = ""


def key_of(name: str) -> str:
    """The GUID in "S-0000000000200007"; of a network file without GUIDs the name."""
    return name[2:].lower() if len(name) == LENGTH and NODE.fullmatch(name) else name


def _port(line: str, key: str, parts: FabricParts, *, switch: bool) -> None:
    found = PORT.match(line)
    if not found:
        return
    port, own, name, far_port, far_guid, own_lid, described, lid, width, speed = found.groups()
    other, far_port = key_of(name), far_port or "1"
    if other not in parts.devices:
        parts.device(other, described or "", switch=name[:2] == "S-" if len(name) == LENGTH else None)
    if not switch:
        address = own.zfill(16) if own else ""
        parts.port(key, port, address, int(own_lid) if own_lid else None)
        if address and address != key:
            parts.holder(address, parts.devices[key].name)
    if far_guid and name[0] != "S":
        parts.port(other, far_port, far_guid.zfill(16), int(lid) if lid else None)
    parts.cable(End(key, port), End(other, far_port), int(width) if width else None, speed or "")
