# SPDX-License-Identifier: Apache-2.0
"""Output of `ibqueryerrors` and of `perfquery`: error counters of ports.

Errors for 0x200007 "leaf-r3-1"
   GUID 0x200007 port 40: [SymbolErrorCounter == 17] [PortXmitWait == 1883]

# Port counters: Lid 12 port 40 (CapMask: 0x5A00)
SymbolErrorCounter:..............17
"""

import re
from collections.abc import Iterable

from railgauge.topo.fabric.model import End
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.files.lines import text_lines

MARK = re.compile(
    rb"^Errors for |^\s+GUID 0x[0-9a-f]+ port \d+:|^# Port (?:extended )?counters: Lid|^## Summary: \d+ nodes checked",
    re.MULTILINE,
)
PORT = re.compile(r"\s+GUID 0x([0-9a-f]{1,16}) port (\d+|ALL):")
COUNTER = re.compile(r"\[(\w+) == (\d{1,20})")
QUERIED = re.compile(r"# Port (?:extended )?counters: Lid (\d+) port (\d+)")
VALUE = re.compile(r"(\w+):\.*(\d{1,20})\s*$")


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add the counters. A LID has to be known from a file read before."""
    if parts.counters is None:
        parts.counters = {}
    end = None
    for line in text_lines(data):
        if found := PORT.match(line):
            counters = {name: int(value) for name, value in COUNTER.findall(line)}
            if found[2] != "ALL":
                parts.count(End(parts.key(found[1]), found[2]), counters)
        elif found := QUERIED.match(line):
            key = parts.key_of_lid.get(int(found[1]))
            end = End(key, found[2]) if key else None
        elif end and (found := VALUE.match(line)):
            parts.count(end, {found[1]: int(found[2])})
