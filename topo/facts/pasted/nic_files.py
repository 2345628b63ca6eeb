# SPDX-License-Identifier: Apache-2.0
"""The RDMA devices and interfaces of pasted outputs as sysfs and libibverbs would show them."""

from collections.abc import Mapping
from typing import Any

from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.pasted.host import PastedHost, PastedPort, PastedRdma
from railgauge.topo.facts.pasted.rdma_tools import UNUSED
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS as INFINIBAND
from railgauge.topo.facts.sources.sysfs_net import CLASS as NET

ADAPTER = "1: CA"
ROCE = "RoCE v2"
VIRTUAL = "/sys/devices/virtual/net"
GONE = "/sys/devices/gone"
FILES = {"operstate": "operstate", "mtu": "mtu", "mac": "address", "index": "ifindex", "type": "type"}
"""Files of an interface's folder by what is known of it."""


def nic_files(host: PastedHost, paths: Mapping[str, str], files: Files) -> None:
    """All of them; `paths`: where PCI functions are, by bus id. A device that is nowhere stands in its class alone."""
    for name, device in host.rdma.items():
        if device.gone:
            files.link(f"{INFINIBAND}/{name}", GONE)
            continue
        path = paths.get(device.bus_id or "")
        folder = f"{path}/infiniband/{name}" if path else f"{INFINIBAND}/{name}"
        files.folder(folder, {"node_type": ADAPTER, **device.files})
        if path:
            files.link(f"{folder}/device", path)
            files.link(f"{INFINIBAND}/{name}", folder)
        for number, port in (device.ports or {1: PastedPort()}).items():
            if host.without_gids and not port.gids:  # a port of InfiniBand has its own GID in every namespace
                port.gids[0] = UNUSED, None, None
                port.files.setdefault("link_layer", "Ethernet")
            _port(port, f"{folder}/ports/{number}", files)
    for name, interface in host.interfaces.items():
        _interface(name, interface, paths.get(_behind(host, name, interface) or ""), files)


def _port(port: PastedPort, folder: str, files: Files) -> None:
    files.folder(folder, {**_layer(port), **port.files})
    files.text(f"{folder}/.seen", "gids")
    for index, (gid, kind, netdev) in port.gids.items():
        files.text(f"{folder}/gids/{index}", gid)
        named = {f"types/{index}": kind, f"ndevs/{index}": netdev or port.netdev}
        files.folder(f"{folder}/gid_attrs", named)


def _layer(port: PastedPort) -> dict[str, str]:
    """The link layer of a port by its GIDs, where no output says it: RoCE v2 is of Ethernet."""
    return {"link_layer": "Ethernet"} if any(kind == ROCE for _, kind, _ in port.gids.values()) else {}


def _behind(host: PastedHost, name: str, interface: Mapping[str, Any]) -> str | None:
    """The bus id of the device behind an interface: its own, or that of its RDMA device."""
    from railgauge.topo.facts.pasted.devices import place_of

    holders = (one.bus_id for one in host.rdma.values() if any(port.netdev == name for port in one.ports.values()))
    return interface.get("bus_id") or next(holders, None) or place_of(name)


def _interface(name: str, interface: Mapping[str, Any], path: str | None, files: Files) -> None:
    folder = f"{path}/net/{name}" if path else f"{VIRTUAL}/{name}" if interface.get("virtual") else f"{NET}/{name}"
    files.folder(folder, {file: str(interface[key]) for key, file in FILES.items() if key in interface})
    files.folder(folder, {"flags": f"{interface['flags'] & ~0x40:#x}" if "flags" in interface else None})
    if interface.get("kind"):
        files.text(f"{folder}/uevent", f"DEVTYPE={interface['kind']}")
    if path:
        files.link(f"{folder}/device", path)
    if not folder.startswith(NET):
        files.link(f"{NET}/{name}", folder)


def interface_facts(host: PastedHost) -> dict[str, dict[str, Any]]:
    """facts/interfaces.json where addresses were pasted."""
    if not host.addresses:
        return {}
    keys = ("name", "index", "flags", "prefix", "addresses")
    found = [{key: one[key] for key in keys if key in one} for one in host.interfaces.values() if "addresses" in one]
    return {"interfaces": {"interfaces": sorted(found, key=lambda one: one.get("index", 0))}}


def verbs_facts(host: PastedHost) -> dict[str, dict[str, Any]]:
    """facts/verbs.json where ibv_devinfo was pasted: it asks libibverbs."""
    if not any(device.verbs or any(port.mtu for port in device.ports.values()) for device in host.rdma.values()):
        return {}
    return {"verbs": {"devices": [_verbs(name, device) for name, device in host.rdma.items()]}}


def _verbs(name: str, device: PastedRdma) -> dict[str, Any]:
    ports = [{"number": number, **port.mtu} for number, port in device.ports.items()]
    return {"name": name, **device.verbs, "ports": ports}
