# SPDX-License-Identifier: Apache-2.0
"""Every network interface of a machine from /sys/class/net, used by NCCL or not (sysfs_net.py says which are)."""

from dataclasses import dataclass

from railgauge.topo.sources.number import whole
from railgauge.topo.sources.reader import Reader
from railgauge.topo.sources.sysfs_net import CLASS, read_nic


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One interface. speed_mbps is None when unreadable (down, virtual); bus_id when no PCI function is behind it.

    mtu is in bytes, mac as sysfs writes it, state the text of operstate ("up", "down", "unknown").
    """

    name: str
    mac: str | None
    mtu: int | None
    state: str | None
    speed_mbps: int | None
    bus_id: str | None
    addresses: tuple[str, ...]


def read_interfaces(reader: Reader) -> tuple[Interface, ...]:
    """All interfaces by name."""
    facts = reader.facts("interfaces") or {}
    addresses = {entry["name"]: tuple(entry.get("addresses", ())) for entry in facts.get("interfaces", ())}
    return tuple(_interface(reader, name, addresses.get(name, ())) for name in reader.entries(CLASS))


def _interface(reader: Reader, name: str, addresses: tuple[str, ...]) -> Interface:
    nic = read_nic(reader, name)
    return Interface(
        name=name,
        mac=reader.text(f"{CLASS}/{name}/address"),
        mtu=whole(reader.text(f"{CLASS}/{name}/mtu")),
        state=reader.text(f"{CLASS}/{name}/operstate"),
        speed_mbps=nic.speed_mbps,
        bus_id=nic.bus_id,
        addresses=addresses,
    )
