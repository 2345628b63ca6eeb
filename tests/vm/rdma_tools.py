# SPDX-License-Identifier: Apache-2.0
"""What `ibv_devinfo -v` and `ibstat` print, read back as {device: {field: text}}, for devices of one port."""

import re

DEVINFO_GID = re.compile(r"GID\[\s*(\d+)\]:\s*(\S+), (.*)")


def devinfo(text: str) -> dict[str, dict[str, str]]:
    """The fields of ibv_devinfo, those of the port among them; a GID is `GID N`: "address, type"."""
    devices: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        if gid := DEVINFO_GID.search(line):
            fields[f"GID {gid[1]}"] = f"{gid[2]}, {gid[3]}"
        elif name == "hca_id":
            fields = devices.setdefault(value, {})
        elif value:
            fields[name] = value
    return devices


def ibstat(text: str) -> dict[str, dict[str, str]]:
    """The fields of ibstat, those of the port among them."""
    devices: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if found := re.match(r"CA '(.*)'", line):
            fields = devices.setdefault(found[1], {})
        else:
            name, _, value = (part.strip() for part in line.partition(":"))
            fields[name] = value
    return devices
