# SPDX-License-Identifier: Apache-2.0
"""The ports of RDMA devices as `rdma link` of iproute2 prints them.

    link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 17 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
    link mlx5_1/1 state DOWN physical_state DISABLED netdev ens1f1np1 netdev_index 5

Older releases put the numbers of device and port in front (0/1: mlx5_0/1:). Only a port of InfiniBand has a LID.
"""

import re

from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.pasted.rdma_tools import DEVINFO_PHYSICAL, NAME, OF_ETHERNET

LINE = re.compile(rf"\s*(?:link |\d{{1,3}}/\d{{1,3}}: )({NAME}?)/(\d{{1,3}}):? (.*\bstate .*)$")
WORDS = re.compile(r"(lid|sm_lid|state|physical_state|netdev) (\S+)")
STATES = {"DOWN": "1: DOWN", "INIT": "2: INIT", "ARMED": "3: ARMED", "ACTIVE": "4: ACTIVE"}


def read(text: str, host: PastedHost) -> str:
    """Each line; of a port that is there twice the last counts."""
    found = [row for line in text.splitlines() if (row := LINE.match(line))]
    for row in found:
        port, words = host.device(row[1]).port(int(row[2])), dict(WORDS.findall(row[3]))
        port.netdev = words.get("netdev", port.netdev)
        if port.netdev:
            host.interface(port.netdev)
        ethernet = port.netdev is not None and OF_ETHERNET.match(port.netdev)
        facts = {
            "state": STATES.get(words.get("state", "")),
            "phys_state": DEVINFO_PHYSICAL.get(words.get("physical_state", "")),
            "lid": words.get("lid"),
            "sm_lid": words.get("sm_lid"),
            "link_layer": "InfiniBand" if "lid" in words else "Ethernet" if ethernet else None,
        }
        port.files |= {name: value for name, value in facts.items() if value}
    host.rdma_listed = host.rdma_listed or bool(found)
    return "rdma link" if found else ""
