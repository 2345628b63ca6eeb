# SPDX-License-Identifier: Apache-2.0
"""RDMA devices as ibstat, ibstatus, ibv_devinfo, show_gids and ibdev2netdev print them.

A blank value, "..." or "N/A" is no value. What each says goes to the files of sysfs that it was read from.
"""

import ipaddress
import re

from railgauge.topo.facts.pasted.host import PastedHost, PastedRdma
from railgauge.topo.values.busid import is_bus_id

NAME = r"[\w.:-]{1,63}"
IBSTAT = re.compile(rf"\s*CA '({NAME})'")
IBSTAT_GONE = re.compile(rf"ibpanic: .*\bIB device '({NAME})' failed: No such")
IBSTATUS = re.compile(rf"\s*Infiniband device '({NAME})' port (\d{{1,3}}) status:")
DEVINFO = re.compile(rf"\s*hca_id:\s*({NAME})")
IBSTAT_PORT = re.compile(r"\s*Port (\d{1,3}):\s*$")
DEVINFO_PORT = re.compile(r"\s*port:\s*(\d{1,3})\s*$")
KEY_VALUE = re.compile(r"\s*([^:=]{1,40}?)\s*:\s*(.*?)\s*$")
GID_LINE = re.compile(r"\s*GID\[\s*(\d{1,4})\]:\s*([0-9a-fA-F:.]+)(?:,\s*(.*?))?\s*$")
SHOW_GIDS = re.compile(
    rf"\s*({NAME})\s+(\d{{1,3}})\s+(\d{{1,4}})\s+([0-9a-fA-F:]{{39}})(?:\s+[\d.]+)?(?:\s+(v[12]))?(?:\s+({NAME}))?\s*$"
)
UNOPENED = re.compile(r"^Failed to open device\s*$", re.MULTILINE)
DEVICES = re.compile(r"\s*device\s+node GUID\s*$")
DEVICE_ROW = re.compile(rf"\s*({NAME})\s+([0-9a-f]{{16}})\s*$")
NO_GIDS = re.compile(r"\s*n_gids_found=\d+")
NETDEV = re.compile(rf"\s*(?:(\S+)\s+)?({NAME})\s+(?:\(.*\)\s+)?.*?port\s+(\d{{1,3}}).*?==>\s+(\S+)\s+\((Up|Down)\)")
OF_ETHERNET = re.compile(r"en|eth|bond")
IPOIB = re.compile(r"ib")
"""Names of interfaces that may be down on a port that is up."""
STATES = {"Down": "1: DOWN", "Initializing": "2: INIT", "Init": "2: INIT", "Armed": "3: ARMED", "Active": "4: ACTIVE"}
PHYSICAL = {
    "Sleep": "1: Sleep",
    "Polling": "2: Polling",
    "Disabled": "3: Disabled",
    "PortConfigurationTraining": "4: PortConfigurationTraining",
    "LinkUp": "5: LinkUp",
    "LinkErrorRecovery": "6: LinkErrorRecovery",
}
DEVINFO_PHYSICAL = {
    "POLLING": "2: Polling",
    "DISABLED": "3: Disabled",
    "LINK_UP": "5: LinkUp",
    "LINK_ERROR_RECOVERY": "6: LinkErrorRecovery",
}
UNUSED, LONGEST_TABLE = ":".join(["0000"] * 8), 1024
ROCE = {"v1": "IB/RoCE v1", "v2": "RoCE v2"}
CHANNEL_ADAPTER, RNIC = "1: CA", "4: RNIC"
LINK_LAYERS = ("InfiniBand", "Ethernet")
NO_VALUE = re.compile(r"\.{2,}|N/?A|-|\(null\)|", re.IGNORECASE)


def read_ibstat(text: str, host: PastedHost) -> str:
    """`ibstat`; a run that broke off counts up to there, and names the device that is gone."""
    device, port, found = PastedRdma(), 0, False
    for line in text.splitlines():
        if start := IBSTAT.match(line):
            device, port, found = host.device(start[1]), 0, True
        elif start := IBSTAT_GONE.match(line):
            host.device(start[1]).gone = found = True
        elif not found:
            continue
        elif start := IBSTAT_PORT.match(line):
            port = int(start[1])
            device.port(port)
        elif pair := _pair(line):
            _ibstat(device, port, *pair)
    host.rdma_listed = host.rdma_listed or found
    return "ibstat" if found else ""


def _ibstat(device: PastedRdma, port: int, key: str, value: str) -> None:
    if not port:
        name = {"CA type": "hca_type", "Firmware version": "fw_ver", "Hardware version": "hw_rev"}.get(key)
        guid = {"Node GUID": "node_guid", "System image GUID": "sys_image_guid"}.get(key)
        if name:
            device.files[name] = value
        if guid and (grouped := _guid(value)):
            device.files[guid] = grouped
        return
    files = device.port(port).files
    if key == "State" and value in STATES:
        files["state"] = STATES[value]
    elif key == "Physical state" and value in PHYSICAL:
        files["phys_state"] = PHYSICAL[value]
    elif key == "Rate":
        files["rate"] = f"{value.split()[0]} Gb/sec"
    elif key == "Link layer" and value in LINK_LAYERS:
        files["link_layer"] = value
    elif name := {"Base lid": "lid", "LMC": "lid_mask_count", "SM lid": "sm_lid", "Capability mask": "cap_mask"}.get(
        key
    ):
        files[name] = value


def read_ibstatus(text: str, host: PastedHost) -> str:
    """`ibstatus`, which prints the files of sysfs. Of the table of GIDs it has the first, which may be empty."""
    files: dict[str, str] = {}
    found, port, without_gid = False, "", dict[str, dict[str, str]]()
    for line in text.splitlines():
        if start := IBSTATUS.match(line):
            files, found = host.device(start[1]).port(int(start[2])).files, True
            port = f"{start[1]}:{start[2]}"
        elif found and (pair := _pair(line)):
            key, value = pair
            if key == "default gid" and value == UNUSED:
                without_gid[port] = files
            name = {"state": "state", "phys state": "phys_state", "rate": "rate", "link_layer": "link_layer"}.get(key)
            name = name or {"base lid": "lid", "sm lid": "sm_lid"}.get(key)
            if name:
                files[name] = value
    roce = {"state": STATES["Active"], "link_layer": "Ethernet"}
    if ports := [one for one, its in without_gid.items() if roce.items() <= its.items()]:
        host.assumed.append(
            f"GID 0 of {', '.join(ports)} is empty: its network interface is not in this network namespace (a pod?); "
            "whether other GIDs are usable is unknown (show_gids)"
        )
    host.rdma_listed = host.rdma_listed or found
    return "ibstatus" if found else ""


def read_ibv_devinfo(text: str, host: PastedHost) -> str:
    """`ibv_devinfo`, with -v its tables of GIDs; lines of such a table alone are those of port 1 of one device."""
    device, port, found, device_known = PastedRdma(), 0, False, False
    speed: dict[str, str] = {}
    for line in text.splitlines():
        if start := DEVINFO.match(line):
            device, port, found, speed = host.device(start[1]), 0, True, {}
        elif start := DEVINFO_PORT.match(line) if found else None:
            port, speed = int(start[1]), {}
            device.port(port)
        elif gid := GID_LINE.match(line):
            device = device if found or device_known else _only_device(host)
            device_known = True
            _gid(device, port or 1, int(gid[1]), gid[2], gid[3])
        elif found and (pair := _pair(line)):
            _devinfo(device, port, speed, *pair)
    host.rdma_listed = host.rdma_listed or found
    if found and (closed := len(UNOPENED.findall(text))):
        host.assumed.append(
            f"ibv_devinfo could not open {closed} further RDMA devices, which it does not name: they are left out"
        )
    return "ibv_devinfo" if found or device_known else ""


def _only_device(host: PastedHost) -> PastedRdma:
    """The device of GIDs whose head was not pasted: the only one known, else one without a name."""
    return next(iter(host.rdma.values())) if len(host.rdma) == 1 else host.device("unnamed")


def _devinfo(device: PastedRdma, port: int, speed: dict[str, str], key: str, value: str) -> None:
    if not port:
        numbers = {"vendor_id": "vendor_id", "vendor_part_id": "vendor_part_id", "hw_ver": "hw_ver", "max_qp": "max_qp"}
        if key in numbers and (number := _number(value)) is not None:
            device.verbs[key] = number
        elif name := {"fw_ver": "fw_ver", "board_id": "board_id"}.get(key):
            device.files[name] = value
        elif key in ("node_guid", "sys_image_guid") and (grouped := _guid(value)):
            device.files[key] = grouped
        elif key == "transport":
            device.files["node_type"] = RNIC if value.startswith("iWARP") else CHANNEL_ADAPTER
        return
    port_record, first = device.port(port), value.split()[0]
    files = port_record.files
    if key == "state" and first.startswith("PORT_"):
        name = first.removeprefix("PORT_").capitalize()
        files["state"] = STATES.get(name, f"0: {name.upper()}")
    elif key == "phys_state" and first in DEVINFO_PHYSICAL:
        files["phys_state"] = DEVINFO_PHYSICAL[first]
    elif key == "link_layer" and first in LINK_LAYERS:
        files["link_layer"] = first
    elif name := {
        "sm_lid": "sm_lid",
        "port_lid": "lid",
        "port_lmc": "lid_mask_count",
        "port_cap_flags": "cap_mask",
    }.get(key):
        files[name] = first
    elif key in ("max_mtu", "active_mtu") and (mtu := re.search(r"\((\d)\)", value)):
        port_record.mtu[key] = int(mtu[1])
    elif key in ("active_width", "active_speed"):
        speed[key] = value
        _rate(files, speed)


def _rate(files: dict[str, str], speed: dict[str, str]) -> None:
    """The rate out of "4X (2)" lanes of "25.0 Gbps (32)" each."""
    lanes = re.match(r"(\d{1,2})X", speed.get("active_width", ""))
    each = re.match(r"(\d{1,4}(?:\.\d)?) Gbps", speed.get("active_speed", ""))
    if lanes and each:
        files["rate"] = f"{int(lanes[1]) * float(each[1]):g} Gb/sec ({lanes[1]}X)"


def read_show_gids(text: str, host: PastedHost) -> str:
    """`show_gids`. Indexes that it leaves out are unused, as in the table that it reads."""
    rows = [found for line in text.splitlines() if (found := SHOW_GIDS.match(line))]
    for row in rows:
        name, port, index, gid, version, netdev = row.groups()
        _gid(host.device(name), int(port), int(index), gid, version, netdev)
        table = host.device(name).port(int(port)).gids
        for unused in range(min(int(index), LONGEST_TABLE)):
            table.setdefault(unused, (UNUSED, None, None))
    empty = any(NO_GIDS.match(line) for line in text.splitlines())
    host.without_gids = host.without_gids or (empty and not rows)
    return "show_gids" if rows or empty else ""


def read_ibv_devices(text: str, host: PastedHost) -> str:
    """`ibv_devices`: names and node GUIDs."""
    found = False
    for line in text.splitlines():
        found = found or bool(DEVICES.match(line))
        if found and (row := DEVICE_ROW.match(line)) and (guid := _guid(row[2])):
            host.device(row[1]).files.setdefault("node_guid", guid)
    return "ibv_devices" if found else ""


def read_ibdev2netdev(text: str, host: PastedHost) -> str:
    """`ibdev2netdev`, with -v the bus ids too. A port is up when its interface is."""
    found = False
    for line in text.splitlines():
        row = NETDEV.match(line)
        if row is None:
            continue
        bus_id, name, port, netdev, state = row.groups()
        device = host.device(name)
        if bus_id and is_bus_id(bus_id):
            device.bus_id = bus_id.lower()
        device.port(int(port)).netdev = netdev
        files = device.port(int(port)).files
        if state == "Up" or not IPOIB.match(netdev):
            files.setdefault("state", STATES["Active" if state == "Up" else "Down"])
        if OF_ETHERNET.match(netdev):
            files.setdefault("link_layer", "Ethernet")
        host.interface(netdev).setdefault("operstate", state.lower())
        found = True
    host.rdma_listed = host.rdma_listed or found
    return "ibdev2netdev" if found else ""


def _gid(device: PastedRdma, port: int, index: int, text: str, kind: str | None, netdev: str | None = None) -> None:
    try:
        gid = ipaddress.IPv6Address(text).exploded
    except ValueError:
        return
    versions = (word for version, word in ROCE.items() if kind and kind.endswith(version))
    device.port(port).gids[index] = (gid, next(versions, None), netdev)


def _pair(line: str) -> tuple[str, str] | None:
    """The key and the value of a line; None where it has no value."""
    found = KEY_VALUE.match(line)
    return (found[1], found[2]) if found and not NO_VALUE.fullmatch(found[2]) else None


def _guid(text: str) -> str | None:
    """A GUID in groups of four; a digit lost at the end of a paste is unknown, so the whole is."""
    digits = text.lower().removeprefix("0x").replace(":", "")
    return ":".join(digits[i : i + 4] for i in range(0, 16, 4)) if re.fullmatch(r"[0-9a-f]{16}", digits) else None


def _number(text: str) -> int | None:
    try:
        return int(text.split()[0], 0)
    except ValueError:
        return None
