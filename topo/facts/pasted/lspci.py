# SPDX-License-Identifier: Apache-2.0
"""`lspci` with -v to -vvv, -n and -nn: the devices, which bridge each is below, links, ACS, NUMA nodes, drivers.

Its words are those of pciutils: LnkCap and LnkSta are of the device's own end, ACSCtl is its ACS control word. Of
`lspci -vvv | grep ACSCtl` each line is a device of which nothing else is known.
"""

import re

from railgauge.topo.facts.pasted.host import PastedFunction, PastedHost
from railgauge.topo.facts.pasted.lspci_line import describe
from railgauge.topo.values.busid import ASSUMED

HEAD = re.compile(
    r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2}\.[0-7]) "
    r"((?:Class )?[0-9a-f]{4}: [0-9a-f]{4}:[0-9a-f]{4}.*|[A-Z0-9][^:\[]{2,60}(?: \[[0-9a-f]{4}\])?: .+)"
)
SECONDARY = re.compile(r"\s+Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
LINK = re.compile(r"Speed ([0-9.]{1,5})GT/s.*?Width x(\d{1,2})")
EXPRESS = re.compile(r"Express \(v\d\) ([A-Za-z -]+?)(?: \(|,|$)")
PORTS = {
    "Endpoint": 0,
    "Legacy Endpoint": 1,
    "Root Port": 4,
    "Upstream Port": 5,
    "Downstream Port": 6,
    "Root Complex Integrated Endpoint": 9,
}
ACS_BITS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
SUBSYSTEM = re.compile(r"Subsystem: .*\[([0-9a-f]{4}):([0-9a-f]{4})\]|Subsystem: ([0-9a-f]{4}):([0-9a-f]{4})$")
NUMA = re.compile(r"NUMA node: (\d{1,4})$")
DRIVER = re.compile(r"Kernel driver in use: ([\w-]{1,40})$")
NAMELESS = re.compile(r"\s*ACSCtl:\s+SrcValid[-+] ")
NAMELESS_BUS, MOST_NAMELESS = 0x80, 32 * 64
"""The buses of the assumed domain in which devices without a name are counted."""
EXTENDED = re.compile(r"Capabilities: \[[1-9a-f][0-9a-f]{2} v\d\]")


def read(text: str, host: PastedHost) -> str:
    """Add the devices; "" if the text has none."""
    function: PastedFunction | None = None
    buses: dict[str, str] = {}
    found: list[PastedFunction] = []
    nameless = 0
    for line in text.splitlines():
        if head := HEAD.match(line):
            domain, bus, place, about = head.groups()
            function = host.function(f"{(domain or '0000')[-4:]}:{bus}:{place}")
            function.in_lspci = True
            describe(function, about)
            found.append(function)
        elif function and (bridge := SECONDARY.match(line)):
            buses[f"{function.bus_id[:5]}{bridge[1]}"] = function.bus_id
            function.pci_class = function.pci_class or "0x060400"
        elif function and line[:1].isspace():
            _detail(function, line.strip())
        elif NAMELESS.match(line) and nameless < MOST_NAMELESS:
            function = host.function(f"{ASSUMED}:{NAMELESS_BUS + nameless // 32:02x}:{nameless % 32:02x}.0")
            function.in_lspci = True
            _detail(function, line.strip())
            nameless, function = nameless + 1, None
        elif line.strip():
            function = None
    for one in found if buses else ():
        one.above = buses.get(one.bus_id[:7], "")
        one.root_bus = "" if one.above else one.bus_id[:7]
    return "lspci" if found or nameless else ""


def _detail(function: PastedFunction, line: str) -> None:
    name, _, rest = line.partition(":")
    if name == "LnkCap" and (link := LINK.search(rest)):
        function.most = float(link[1]), int(link[2])
    elif name == "LnkSta" and (link := LINK.search(rest)):
        function.now = float(link[1]), int(link[2])
    elif name == "ACSCtl":
        function.acs = sum(1 << bit for bit, word in enumerate(ACS_BITS) if f"{word}+" in rest)
    elif line.startswith("RlxdOrd"):
        function.relaxed_ordering = line.startswith("RlxdOrd+")
    elif subsystem := SUBSYSTEM.match(line):
        ids = [one for one in subsystem.groups() if one]
        function.subsystem_vendor, function.subsystem_device = (f"0x{one}" for one in ids)
    elif numa := NUMA.match(line):
        function.numa = int(numa[1])
    elif driver := DRIVER.match(line):
        function.driver = driver[1]
    elif express := EXPRESS.search(line):
        function.port = PORTS.get(express[1])
    if EXTENDED.match(line):
        function.whole_config = True
