# SPDX-License-Identifier: Apache-2.0
"""Every network interface of a machine from /sys/class/net, used by NCCL or not (sysfs_net.py says which are)."""

from typing import NamedTuple

from railgauge.topo.facts.reader import Facts, Reader
from railgauge.topo.facts.sources.sysfs_net import CLASS, read_nic
from railgauge.topo.values.number import whole


class SysfsInterface(NamedTuple):
    """One interface. speed_mbps is None when unreadable (down, virtual); bus_id when no PCI function is behind it.

    mtu is in bytes, mac as sysfs writes it, state the text of operstate ("up", "down", "unknown"). kind is what the
    kernel calls a device that is no plain one ("bridge", "vlan", "vxlan", "bond", ...). prefix is the length of the
    IPv4 network's; both None if unknown.
    """

    name: str
    mac: str | None
    mtu: int | None
    state: str | None
    speed_mbps: int | None
    bus_id: str | None
    addresses: tuple[str, ...]
    kind: str | None = None
    prefix: int | None = None


def read_interfaces(reader: Reader) -> tuple[SysfsInterface, ...]:
    """All interfaces by name."""
    facts = reader.facts("interfaces") or {}
    facts_by_name = {entry["name"]: entry for entry in facts.get("interfaces", ())}
    return tuple(_interface(reader, name, facts_by_name.get(name, {})) for name in reader.entries(CLASS))


def _interface(reader: Reader, name: str, facts: Facts) -> SysfsInterface:
    uevent = (reader.text(f"{CLASS}/{name}/uevent") or "").splitlines()
    nic = read_nic(reader, name)
    return SysfsInterface(
        name=name,
        mac=reader.text(f"{CLASS}/{name}/address"),
        mtu=whole(reader.text(f"{CLASS}/{name}/mtu")),
        state=reader.text(f"{CLASS}/{name}/operstate"),
        speed_mbps=nic.speed_mbps,
        bus_id=nic.bus_id,
        addresses=tuple(facts.get("addresses", ())),
        kind=next((line.partition("=")[2] for line in uevent if line.startswith("DEVTYPE=")), None),
        prefix=facts.get("prefix"),
    )
