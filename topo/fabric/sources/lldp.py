# SPDX-License-Identifier: Apache-2.0
"""LLDP neighbours in JSON: `lldpctl -f json` (also of Cumulus and SONiC, whose daemon it is), and SONiC's database
(`sonic-db-dump -n APPL_DB -k 'LLDP_ENTRY*'`).

The file is that of one host or switch, which does not name itself: its name is that of the file (leaf-0.json). What is
across is a switch if it bridges or routes, else a node. A node's port is known by its MAC.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.model import End
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.files.json_value import json_value

MARK = re.compile(rb'^\s*\{\s*"lldp"\s*:|"LLDP_ENTRY_TABLE:')
LARGEST = 64 << 20
MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.IGNORECASE)
ENTRY = "LLDP_ENTRY_TABLE:"
BRIDGE = ("bridge", "router")


class LldpNeighbour(NamedTuple):
    """What a port hears: the own port, and name, port and MAC of what is across, and whether that is a switch."""

    own: str
    name: str
    port: str
    mac: str
    is_switch: bool


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add the cables of one device. InputError if it is no JSON."""
    text = b"".join(data)
    if len(text) > LARGEST:
        raise InputError(f"more than {LARGEST >> 20} MiB", parts.path)
    try:
        found = json_value(text)
    except ValueError as error:
        raise InputError(str(error), parts.path) from None
    neighbours = list(_entries(found) if isinstance(found, dict) and "lldp" not in found else _neighbours(found))
    own = os.path.basename(parts.path).partition(".")[0]
    known = own in parts.devices and parts.devices[own].is_switch
    is_switch = known or any(not one.is_switch for one in neighbours) or _names_ports(neighbours)
    me = own if is_switch else f"node {own}"
    part = parts.device(me, own, switch=is_switch, listed=True)
    part.node = "" if is_switch else own
    part.ports = max(part.ports, len(neighbours)) if is_switch else 0
    for one in neighbours:
        other = one.name if one.is_switch else f"node {one.name}"
        far = parts.device(other, one.name, switch=one.is_switch, listed=True)
        far.node = "" if one.is_switch else one.name
        if not one.is_switch:
            port = one.mac or one.port
            parts.port(other, port, one.mac)
            far.labels[port] = one.port
            parts.cable(End(me, one.own), End(other, port))
        elif is_switch:
            parts.cable(End(me, one.own), End(other, one.port))
        else:
            _from_node(parts, me, one, other)


def _from_node(parts: FabricParts, me: str, one: LldpNeighbour, other: str) -> None:
    """A node's own listing: the switch knows the port by its MAC, if it has listed it."""
    known = parts.cables.get(End(other, one.port))
    if known is None:
        parts.cable(End(me, one.own), End(other, one.port))
        parts.devices[me].labels[one.own] = one.own


def _names_ports(neighbours: list[LldpNeighbour]) -> bool:
    """Whether the own ports are named as those of switches are."""
    return bool(neighbours) and all(re.match(r"swp\d|Ethernet\d|et[h-]?\d+/", one.own) for one in neighbours)


def _neighbours(found: Any) -> Iterator[LldpNeighbour]:
    interfaces = found.get("lldp", {}).get("interface", []) if isinstance(found.get("lldp"), dict) else []
    rows = interfaces if isinstance(interfaces, list) else [interfaces]
    for row in rows:
        for own, one in row.items() if isinstance(row, dict) else ():
            if isinstance(one, dict) and (read := _neighbour(own, one)):
                yield read


def _neighbour(own: str, one: dict[str, Any]) -> LldpNeighbour | None:
    chassis, port = one.get("chassis"), one.get("port")
    if not isinstance(chassis, dict) or not isinstance(port, dict) or not chassis:
        return None
    if ("id" in chassis and set(chassis) & {"capability", "descr", "mgmt-ip"}) or set(chassis) == {"id"}:
        name, inner = "", chassis
    else:
        name, inner = next(iter(chassis.items()))
    inner = inner if isinstance(inner, dict) else {}
    capabilities = inner.get("capability", [])
    capabilities = capabilities if isinstance(capabilities, list) else [capabilities]
    on = {str(each.get("type", "")).lower() for each in capabilities if isinstance(each, dict) and each.get("enabled")}
    identity, of_port = _value(inner.get("id")), _value(port.get("id"))
    mac = of_port.lower() if MAC.fullmatch(of_port) else ""
    label = of_port if not mac else str(port.get("descr", "") or of_port)
    return LldpNeighbour(own, name or identity, label, mac, bool(on & set(BRIDGE)))


def _value(identity: Any) -> str:
    return str(identity.get("value", "")) if isinstance(identity, dict) else ""


def _entries(found: dict[str, Any]) -> Iterator[LldpNeighbour]:
    """SONiC's table: capabilities as bits, 0x04 a bridge and 0x10 a router in its first byte (IEEE 802.1AB)."""
    for key, row in found.items():
        value = row.get("value") if isinstance(row, dict) else None
        if not key.startswith(ENTRY) or not isinstance(value, dict):
            continue
        port = str(value.get("lldp_rem_port_id", ""))
        mac = port.lower() if MAC.fullmatch(port) else ""
        bits = str(value.get("lldp_rem_sys_cap_enabled", "")).split()
        number = int(bits[0], 16) if bits and re.fullmatch("[0-9a-fA-F]{2}", bits[0]) else 0
        name = str(value.get("lldp_rem_sys_name") or value.get("lldp_rem_chassis_id", ""))
        label = port if not mac else str(value.get("lldp_rem_port_desc") or port)
        yield LldpNeighbour(key.removeprefix(ENTRY), name, label, mac, bool(number & 0x28))
