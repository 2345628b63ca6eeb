# SPDX-License-Identifier: Apache-2.0
"""`ip -j addr` (and `ip -j -d addr`): network interfaces with their addresses."""

from collections.abc import Iterable
from typing import Any

from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.files.json_value import json_value

FLAGS = {"UP": 0x1, "BROADCAST": 0x2, "LOOPBACK": 0x8, "POINTOPOINT": 0x10, "NOARP": 0x80, "MULTICAST": 0x1000}
RUNNING, LOWER_UP = 0x40, "LOWER_UP"
MOST = 8192


def read(text: str, host: PastedHost) -> str:
    """Add the interfaces; "" if the text is not such JSON."""
    start = text.find("[{")
    try:
        found = json_value(text[start : text.rfind("]") + 1]) if start >= 0 else None
    except ValueError:
        return ""
    return add([one for one in found or () if isinstance(one, dict)], host) and "ip -j addr"


def add(found: Iterable[dict[str, Any]], host: PastedHost) -> str:
    """Add interfaces as `ip -j addr` has them; the name of the first, "" without one."""
    entries = [one for one in found if isinstance(one.get("ifname"), str)]
    for entry in entries[:MOST]:
        _add(entry, host)
    host.addresses = host.addresses or any(entry.get("addr_info") for entry in entries)
    return entries[0]["ifname"] if entries else ""


def _add(entry: dict[str, Any], host: PastedHost) -> None:
    interface = host.interface(entry["ifname"][:63])
    flags = [one for one in _list(entry, "flags") if isinstance(one, str)]
    addresses = [
        one for one in _list(entry, "addr_info") if isinstance(one, dict) and isinstance(one.get("local"), str)
    ]
    four = [one for one in addresses if one.get("family") == "inet"]
    prefix = four[0].get("prefixlen") if four else None
    kind = entry.get("linkinfo", {}).get("info_kind") if isinstance(entry.get("linkinfo"), dict) else None
    values = {
        "index": entry.get("ifindex"),
        "mtu": entry.get("mtu"),
        "flags": sum(FLAGS.get(one, 0) for one in flags) | (RUNNING if LOWER_UP in flags else 0),
        "prefix": prefix if isinstance(prefix, int) and 0 <= prefix <= 128 else None,
        "addresses": [one["local"] for one in (*four, *(one for one in addresses if one not in four))],
        "mac": entry.get("address"),
        "operstate": str(entry.get("operstate", "unknown")).lower(),
        "kind": kind,
        "type": {"ether": "1", "infiniband": "32", "loopback": "772"}.get(str(entry.get("link_type"))),
        "virtual": "link_index" in entry or entry.get("link_type") == "loopback" or kind is not None,
    }
    interface.update({key: value for key, value in values.items() if value is not None})


def _list(entry: dict[str, Any], key: str) -> list[Any]:
    value = entry.get(key)
    return value if isinstance(value, list) else []
