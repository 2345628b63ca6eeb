# SPDX-License-Identifier: Apache-2.0
"""`ip addr`, `ip link` and `ifconfig` as text: network interfaces with their addresses, as `ip -j addr` has them.

2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9001 qdisc mq state UP group default
    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0
eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
    inet 10.0.0.1  netmask 255.255.255.0  broadcast 10.0.0.255
"""

import re
from ipaddress import ip_address
from typing import Any

from railgauge.topo.facts.pasted import ip_addr
from railgauge.topo.facts.pasted.host import PastedHost

HEAD = re.compile(
    r"\s*(?:(?P<index>\d{1,6}): )?(?P<name>[\w.-]{1,63})(?P<behind>@[\w.-]+)?: (?:flags=\d+)?<(?P<flags>[A-Z_0-9,-]*)>"
    r"(?:.*?\bmtu (?P<mtu>\d{1,6}))?(?:.*?\bstate (?P<state>[A-Z]+))?"
)
INET = re.compile(
    r"\s*inet6? (?P<address>[\da-fA-F.:]{2,45})(?:/(?P<prefix>\d{1,3}))?(?:.*?netmask (?P<mask>[\d.]{7,15}))?"
)
LINK = re.compile(r"\s*(?:link/)?(?P<type>ether|infiniband|loopback)\b(?: (?P<mac>[\da-fA-F:]{17,59}))?")


def read(text: str, host: PastedHost) -> str:
    """Add the interfaces; "" if the text has none."""
    entries: list[dict[str, Any]] = []
    lines = text.rstrip().splitlines()
    for line in lines:
        if head := HEAD.match(line):
            entries.append(_entry(head))
        elif entries and (found := INET.match(line)):
            _address(entries[-1], found)
        elif entries and (link := LINK.match(line)):
            entries[-1] |= {"link_type": link["type"], "address": link["mac"]}
    if any(one["addr_info"] for one in entries) and "ifindex" in entries[-1] and HEAD.match(lines[-1]):
        host.assumed.append(f"ip addr breaks off after the first line of {entries.pop()['ifname']}: it is left out")
    return ip_addr.add(entries, host) and ("ip addr" if any("ifindex" in one for one in entries) else "ifconfig")


def _entry(head: re.Match[str]) -> dict[str, Any]:
    """An interface as `ip -j addr` has it."""
    flags = head["flags"].replace("RUNNING", ip_addr.LOWER_UP).split(",")
    entry: dict[str, Any] = {"ifname": head["name"], "flags": flags, "addr_info": []}
    if head["index"]:
        entry |= {"ifindex": int(head["index"]), "operstate": head["state"] or "unknown"}
    if head["mtu"]:
        entry["mtu"] = int(head["mtu"])
    return entry | ({"link_index": 0} if head["behind"] else {})


def _address(entry: dict[str, Any], found: re.Match[str]) -> None:
    try:
        address = ip_address(found["address"])
    except ValueError:
        return
    mask = found["mask"]
    bits = sum(bin(int(part)).count("1") for part in mask.split(".") if part) if mask else None
    prefix = int(found["prefix"]) if found["prefix"] else bits
    family = "inet" if address.version == 4 else "inet6"
    entry["addr_info"].append({"family": family, "local": str(address), "prefixlen": prefix})
