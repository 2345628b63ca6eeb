# SPDX-License-Identifier: Apache-2.0
"""Facts of a described machine's NICs that are in no file: addresses of interfaces, and the answers of libibverbs."""

from typing import Any

from railgauge.topo.facts.described.nics import DescribedNic

LOOPBACK: dict[str, Any] = {"name": "lo", "index": 1, "flags": 0x49, "addresses": ["127.0.0.1", "::1"]}
MELLANOX, MELLANOX_OUI = 0x15B3, 0x2C9  # mlx4 and mlx5 report their OUI, other drivers the PCI vendor
MTU_1024, MTU_4096 = 3, 5  # enum ibv_mtu; an Ethernet frame of 1500 bytes holds no more than 1024


def interface_facts(nics: tuple[DescribedNic, ...]) -> dict[str, Any]:
    """facts/interfaces.json."""
    return {"interfaces": [LOOPBACK, *(_interface(nic) for nic in nics if nic.netdev)]}


def _interface(nic: DescribedNic) -> dict[str, Any]:
    addresses = [nic.address] if nic.address and nic.up else []
    return {"name": nic.netdev, "index": nic.index + 2, "flags": nic.flags, "addresses": addresses}


def verbs_facts(nics: tuple[DescribedNic, ...]) -> dict[str, Any]:
    """facts/verbs.json; absent without RDMA devices."""
    devices = [_device(nic) for nic in nics if nic.rdma]
    return {"verbs": {"devices": devices}} if devices else {}


def _device(nic: DescribedNic) -> dict[str, Any]:
    vendor, part = (int(one, 16) for one in nic.model.pci.ids)
    active = MTU_4096 if nic.model.layer == "InfiniBand" else MTU_1024
    return {
        "name": nic.rdma,
        "vendor_id": MELLANOX_OUI if vendor == MELLANOX else vendor,
        "vendor_part_id": part,
        "hw_ver": 0,
        "max_qp": nic.model.max_qp,
        "dma_buf": int(nic.model.dma_buf),
        "ports": [{"number": 1, "max_mtu": MTU_4096, "active_mtu": active}],
    }
