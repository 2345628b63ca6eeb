# SPDX-License-Identifier: Apache-2.0
"""Builds /sys/class/infiniband trees as the kernel lays them out."""

from collections.abc import Mapping
from pathlib import Path

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, read_rdma

ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
CARD = {
    "node_type": "1: CA",
    "node_guid": "946d:ae03:0090:7832",
    "sys_image_guid": "946d:ae03:0090:7832",
    "fw_ver": "28.39.1002",
    "hca_type": "MT4129",
    "hw_rev": "0",
    "board_id": "MT_0000000838",
    "node_desc": "gpu-1 HCA-1",
}
PORT = {
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "rate": "400 Gb/sec (4X NDR)",
    "link_layer": "InfiniBand",
    "lid": "0x33f9",
    "sm_lid": "0x1",
    "lid_mask_count": "0",
    "cap_mask": "0xa751e848",
}
ROCE = {"link_layer": "Ethernet", "lid": "0x0", "sm_lid": "0x0", "cap_mask": "0x00010000"}
Entries = Mapping[int, tuple[str, str | None, str | None]]


class RdmaTree:
    """A machine's RDMA devices below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def link(self, path: str, target: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def device(self, name: str, *chain: str, numa: int = 0, netdev: str | None = None, **texts: str) -> str:
        """A device behind the PCI functions of `chain` (none: software); answers the path of the function."""
        function = f"/sys/devices/pci{chain[0][:7]}/{'/'.join(chain)}" if chain else "/sys/devices/virtual"
        folder = f"{function}/infiniband/{name}"
        for key, text in ({**CARD, **texts} if chain else {"node_type": "1: CA", **texts}).items():
            self.write(f"{folder}/{key}", text)
        self.link(f"/sys/class/infiniband/{name}", folder)
        if chain:
            self.link(f"{folder}/device", function)
            self.write(f"{function}/numa_node", str(numa))
            if netdev:
                self.write(f"{function}/net/{netdev}/dev_port", "0")
        return function

    def port(self, name: str, number: int = 1, gids: Entries | None = None, table: int = 8, **texts: str) -> None:
        """One port; entries of the GID table are (gid, type, netdev), all others are unused."""
        real = f"{(self.root / 'sys/class/infiniband' / name).readlink()}/ports/{number}"
        for key, text in {**PORT, **texts}.items():
            self.write(f"{real}/{key}", text)
        for index in range(table):
            gid, kind, netdev = (gids or {}).get(index, (ZERO, None, None))
            self.write(f"{real}/gids/{index}", gid)
            for where, text in (("types", kind), ("ndevs", netdev)):
                if text:
                    self.write(f"{real}/gid_attrs/{where}/{index}", text)

    def read(self) -> tuple[RdmaDevice, ...]:
        return read_rdma(LiveReader(str(self.root)))
