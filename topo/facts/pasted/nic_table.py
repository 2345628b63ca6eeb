# SPDX-License-Identifier: Apache-2.0
"""Tables of NICs that sites print of ibdev2netdev, ibstat and lspci together, one column for each fact.

PCI_addr   |  RDMA  | Net | Numa | LnkStat | IpStat | Link | Rate | LnkCapWidth | LnkStaWidth | HCA_Type
000a:11:00.0 | mlx5_0 | ib0 |  2   |  down   |  down  |  IB  | 100  |   x16 G3    |   x8 >!<    |  MT4119
"""

import re

from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.pasted.rdma_tools import STATES
from railgauge.topo.values.busid import is_bus_id

NEEDED = {"PCI_addr", "RDMA"}
LINK_LAYERS = {"IB": "InfiniBand", "Eth": "Ethernet"}
STATE = {"down": STATES["Down"], "init": STATES["Init"], "armed": STATES["Armed"], "actv": STATES["Active"]} | {
    "active": STATES["Active"],
    "up": STATES["Active"],
}
NAME = re.compile(r"[\w.:-]{1,63}")
LINK = re.compile(r"x(\d{1,2})(?: G(\d))?")
SPEEDS = {"1": 2.5, "2": 5.0, "3": 8.0, "4": 16.0, "5": 32.0, "6": 64.0}
"""GT/s of a lane by PCIe generation."""


def read(text: str, host: PastedHost) -> str:
    """Add the devices; "" if the text has no such table."""
    columns: list[str] = []
    found = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if {*cells} >= NEEDED:
            columns = cells
        elif columns and len(cells) == len(columns):
            row = dict(zip(columns, cells, strict=True))
            if is_bus_id(row["PCI_addr"]) and NAME.fullmatch(row["RDMA"]):
                _device(host, row)
                found = True
    return "table of NICs" if found else ""


def _device(host: PastedHost, row: dict[str, str]) -> None:
    device, function = host.device(row["RDMA"]), host.function(row["PCI_addr"].lower())
    device.bus_id = function.bus_id
    if found := re.match(r"MT\d{4,5}", row.get("HCA_Type", "")):
        device.files["hca_type"] = found[0]
    port = device.port(1)
    if name := NAME.fullmatch(row.get("Net", "")):
        port.netdev = name[0]
        host.interface(name[0]).setdefault("operstate", row.get("IpStat", "").lower() or "unknown")
    if state := STATE.get(row.get("LnkStat", "").lower()):
        port.files["state"] = state
    if layer := LINK_LAYERS.get(row.get("Link", "")):
        port.files["link_layer"] = layer
    if row.get("Rate", "").isdecimal():
        port.files["rate"] = f"{row['Rate']} Gb/sec"
    if row.get("Numa", "").isdecimal():
        function.numa = int(row["Numa"])
    function.most, function.now = (_link(row.get(column, "")) for column in ("LnkCapWidth", "LnkStaWidth"))


def _link(text: str) -> tuple[float | None, int | None]:
    """GT/s and lanes of `x16 G3`; a mark behind them (`>!<`) says only that they are fewer than they could be."""
    found = LINK.match(text)
    return (SPEEDS.get(found[2] or ""), int(found[1])) if found else (None, None)
