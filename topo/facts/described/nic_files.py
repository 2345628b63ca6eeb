# SPDX-License-Identifier: Apache-2.0
"""The NICs of a described machine as sysfs shows them: /sys/class/net and /sys/class/infiniband."""

from railgauge.topo.facts.capture import SEEN
from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.described.nics import RUNNING, DescribedNic, grouped

NET, INFINIBAND, VERBS = "/sys/class/net", "/sys/class/infiniband", "/sys/class/infiniband_verbs"
PORT_STATE = {"ACTIVE": "4: ACTIVE", "INIT": "2: INIT", "DOWN": "1: DOWN"}
PHYSICAL = {"ACTIVE": "5: LinkUp", "INIT": "5: LinkUp"}
DOWN = {"InfiniBand": "2: Polling", "Ethernet": "3: Disabled"}
ARPHRD = {"Ethernet": "1", "InfiniBand": "32"}  # linux/if_arp.h
CAPABILITIES = {"InfiniBand": "0xa751e848", "Ethernet": "0x00010000"}
ROCE = ("IB/RoCE v1", "RoCE v2")


def nic_files(nics: tuple[DescribedNic, ...], host: str, files: Files) -> None:
    """Every network interface and RDMA device, and the loopback interface; `host` is the host's name."""
    lo = "/sys/devices/virtual/net/lo"
    files.folder(lo, {"address": "00:00:00:00:00:00", "flags": "0x9", "ifindex": "1", "operstate": "unknown"})
    files.link(f"{NET}/lo", lo)
    for nic in nics:
        if nic.netdev:
            _interface(nic, nic.netdev, files)
        if nic.rdma:
            _rdma(nic, nic.rdma, host, files)


def _interface(nic: DescribedNic, name: str, files: Files) -> None:
    device = nic.node.path
    if nic.model.virtio:
        device += f"/virtio{nic.index}"
        files.text(f"/sys/bus/virtio/{SEEN}", "")
        files.link(f"{device}/subsystem", "/sys/bus/virtio")
    folder = f"{device}/net/{name}"
    files.folder(
        folder,
        {
            "address": nic.mac,
            "flags": f"{nic.flags & ~RUNNING:#x}",
            "ifindex": str(nic.index + 2),
            "mtu": "1500" if nic.model.layer == "Ethernet" else "4092",
            "operstate": "up" if nic.up else "down",
            "type": ARPHRD[nic.model.layer],
            "speed": _megabits(nic) if nic.up else None,
        },
    )
    files.link(f"{folder}/device", device)
    files.link(f"{NET}/{name}", folder)


def _megabits(nic: DescribedNic) -> str:
    """The speed in Mb/s: the rate's first number is in Gb/s; -1 without a rate, as virtio has it."""
    number = nic.model.rate.partition(" ")[0]
    return str(round(float(number) * 1000)) if number else "-1"


def _rdma(nic: DescribedNic, name: str, host: str, files: Files) -> None:
    folder, model = f"{nic.node.path}/infiniband/{name}", nic.model
    files.folder(
        folder,
        {
            "node_type": "1: CA",
            "node_guid": nic.guid,
            "sys_image_guid": nic.system_guid,
            "fw_ver": model.firmware,
            "hca_type": model.hca,
            "hw_rev": "0",
            "board_id": model.board,
            "node_desc": f"{host} {name}",  # as rdma-core's rdma-ndd sets it
        },
    )
    files.link(f"{folder}/device", nic.node.path)
    files.link(f"{INFINIBAND}/{name}", folder)
    verbs = f"{nic.node.path}/infiniband_verbs/uverbs{nic.index}"
    files.folder(verbs, {"ibdev": name, "abi_version": "1"})
    files.link(f"{verbs}/device", nic.node.path)
    files.link(f"{VERBS}/uverbs{nic.index}", verbs)
    _port(nic, f"{folder}/ports/1", files)


def _port(nic: DescribedNic, folder: str, files: Files) -> None:
    model = nic.model
    routed = model.layer == "InfiniBand" and model.state == "ACTIVE"
    files.folder(
        folder,
        {
            "state": PORT_STATE[model.state],
            "phys_state": PHYSICAL.get(model.state, DOWN[model.layer]),
            "rate": model.rate,
            "link_layer": model.layer,
            "lid": f"{nic.index + 1:#x}" if routed else "0x0",
            "sm_lid": "0x1" if routed else "0x0",
            "lid_mask_count": "0",
            "sm_sl": "0",
            "cap_mask": CAPABILITIES[model.layer],
        },
    )
    for index, (gid, kind) in enumerate(_gids(nic)):
        files.text(f"{folder}/gids/{index}", gid)
        files.text(f"{folder}/gid_attrs/types/{index}", kind)
        if model.layer == "Ethernet" and nic.netdev:
            files.text(f"{folder}/gid_attrs/ndevs/{index}", nic.netdev)


def _gids(nic: DescribedNic) -> list[tuple[str, str]]:
    """The GID table: one made of the GUID, or for RoCE each address of the interface in both versions."""
    if nic.model.layer == "InfiniBand":
        return [(f"fe80:0000:0000:0000:{nic.guid}", ROCE[0])]
    digits = nic.mac.replace(":", "")
    link_local = grouped(f"fe80{'0' * 12}{int(digits[:2], 16) ^ 2:02x}{digits[2:6]}fffe{digits[6:]}")
    gids = [link_local]
    if nic.address:
        mapped = "".join(f"{int(part):02x}" for part in nic.address.split("."))
        gids.append(grouped(f"{'0' * 20}ffff{mapped}"))
    return [(gid, version) for gid in gids for version in ROCE]
