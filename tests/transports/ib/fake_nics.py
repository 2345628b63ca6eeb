# SPDX-License-Identifier: Apache-2.0
"""Hosts with RDMA devices that are not there: sysfs trees, and what libibverbs would list of them."""

from types import SimpleNamespace

from tests.topo.rdma_tree import ROCE, RdmaTree

from railgauge.topo.errors import UnavailableError
from railgauge.topo.facts.reader import LiveReader
from railgauge.transports.ib import device as module

V1, V2 = "IB/RoCE v1", "RoCE v2"
LINK_LOCAL = "fe80:0000:0000:0000:5054:00ff:fe77:0000"
FIRST_BUS = 0x18


def mapped(last: int, rail: int = 0) -> str:
    """The GID of 10.77.RAIL.LAST."""
    return f"0000:0000:0000:0000:0000:ffff:0a4d:{rail:02x}{last:02x}"


def gids(rail: int = 0):
    """What Linux has of an interface with an IPv4 address."""
    return {
        0: (LINK_LOCAL, V1, f"eth{rail}"),
        1: (LINK_LOCAL, V2, f"eth{rail}"),
        2: (mapped(1, rail), V1, f"eth{rail}"),
        3: (mapped(1, rail), V2, f"eth{rail}"),
    }


def roce(tree: RdmaTree, *names: str, soft: bool = False, **port) -> None:
    """RoCE devices of one port each, on cards of their own or in software."""
    for rail, name in enumerate(names):
        bus = () if soft else (f"0000:{FIRST_BUS + rail:02x}:00.0",)
        tree.device(name, *bus, netdev=f"eth{rail}")
        tree.port(name, **{"gids": gids(rail), **ROCE, **port})


def listed(monkeypatch, *names: str, **problems: str) -> None:
    """libibverbs lists these; `problems` are those that cannot be opened, and why."""
    every = [SimpleNamespace(name=name, problem=problems.get(name, "")) for name in (*names, *problems)]
    monkeypatch.setattr(module.native, "verbs_devices", lambda: every, raising=False)


def without_library(monkeypatch, why: str) -> None:
    def absent():
        raise UnavailableError(why)

    monkeypatch.setattr(module.native, "verbs_devices", absent, raising=False)


def reader(tree: RdmaTree, memlock: int = -1, capabilities: int = 0) -> LiveReader:
    """Of a process that may lock so many bytes."""
    process = {"memlock_bytes": [memlock, memlock], "open_files": [1024, 1024], "capabilities": capabilities}
    return LiveReader(str(tree.root), {"process": lambda: process})
