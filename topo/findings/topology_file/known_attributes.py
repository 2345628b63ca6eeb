# SPDX-License-Identifier: Apache-2.0
"""The attributes that NCCL's topology XML knows by element (the readers of xml.cc and topo.cc, 2.30)."""

ATTRIBUTES = {
    "system": ("version", "name"),
    "cpu": ("host_hash", "numaid", "affinity", "affinity_offset", "arch", "vendor", "familyid", "modelid"),
    "pci": (
        "busid",
        "class",
        "vendor",
        "device",
        "subsystem_vendor",
        "subsystem_device",
        "link_speed",
        "link_width",
    ),
    "gpu": ("dev", "sm", "mlopart", "rank", "gdr"),
    "nvlink": ("target", "count", "tclass"),
    "c2c": ("bw", "count"),
    "pcilink": ("target",),
    "nic": (),
    "net": (
        "name",
        "dev",
        "latency",
        "speed",
        "port",
        "guid",
        "maxconn",
        "gdr",
        "coll",
        "net",
        "gin",
        "rma",
        "rail",
        "plane",
    ),
}
RCCL_ATTRIBUTES = {"gpu": ("gcn", "arch")}
"""What RCCL's xml.cc reads besides, of files of its version."""
MARKS = ("keep",)  # NCCL's own mark while it trims
