# SPDX-License-Identifier: Apache-2.0
"""The NCCL_* settings that steer paths: how far P2P and GPUDirect RDMA reach, PXN, and whether the network competes.

NCCL's functions: `ncclGetLevel` (levels by name or by the old integers), `getNetDevsPolicyOnce`; both of 2.30.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from railgauge.topo.nccl.graph.model import PATH_TYPES
from railgauge.topo.nccl.settings.parameter import parameter

BY_NAME = PATH_TYPES[: PATH_TYPES.index("SYS") + 1]
OLD_LEVELS = ("LOC", "PIX", "PXB", "PHB", "SYS")  # 0 to 4; any larger one is SYS
MAX_POLICY = re.compile(r"max:\s*\+?([0-9]{1,9})", re.IGNORECASE)
UNLIMITED = 1 << 30
MEANING = {
    "NCCL_P2P_LEVEL": "how far apart GPUs may be for P2P",
    "NCCL_P2P_DISABLE": "1: no P2P",
    "NCCL_IGNORE_DISABLED_P2P": "1: continue if NVML denies P2P over NVLink; 2: do not query NVML",
    "NCCL_NVB_DISABLE": "1: no path over another GPU's NVLinks",
    "NCCL_NET_GDR_LEVEL": "how far apart GPU and NIC may be for GPUDirect RDMA",
    "NCCL_NET_GDR_READ": "0: no GPUDirect RDMA for sending; 1: also before sm 80 without NVLink",
    "NCCL_NET_GDR_C2C": "0: no GPUDirect RDMA over a chip-to-chip link",
    "NCCL_NET_DISABLE_INTRA": "1: never use the network instead of a path within the node",
    "NCCL_PXN_DISABLE": "1: no GPU relays to a NIC",
    "NCCL_PXN_C2C": "0: no GPU relays over its chip-to-chip link",
    "NCCL_NETDEVS_POLICY": "how many NICs a GPU uses: AUTO, ALL or MAX:n",
}


class PathTypeLimit(NamedTuple):
    """The furthest path type that is allowed, and the setting that says so."""

    type: str
    source: str

    @property
    def rank(self) -> int:
        """The type's place in PATH_TYPES."""
        return PATH_TYPES.index(self.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The values of the settings; the defaults are NCCL's.

    p2p and gdr are None if NCCL decides by the machine. gdr_read: 0 off, above 0 on, below 0 by the GPU.
    nets_per_gpu: the most NICs that a GPU uses, None to distribute them evenly.
    """

    p2p: PathTypeLimit | None = None
    gdr: PathTypeLimit | None = None
    ignore_denied_p2p: int = 0
    nvb: bool = True
    gdr_read: int = -2
    gdr_c2c: bool = True
    net_within_node: bool = True
    pxn: bool = True
    pxn_c2c: bool = True
    nets_per_gpu: int | None = None


def read_levels(settings: Mapping[str, str]) -> Levels:
    """Read the settings in an environment; names that steer no path are ignored."""
    return Levels(
        p2p=_no_p2p(settings) or _reach(settings, "NCCL_P2P_LEVEL"),
        gdr=_reach(settings, "NCCL_NET_GDR_LEVEL"),
        ignore_denied_p2p=parameter(settings, "NCCL_IGNORE_DISABLED_P2P", 0),
        nvb=not parameter(settings, "NCCL_NVB_DISABLE", 0),
        gdr_read=parameter(settings, "NCCL_NET_GDR_READ", -2),
        gdr_c2c=bool(parameter(settings, "NCCL_NET_GDR_C2C", 1)),
        net_within_node=parameter(settings, "NCCL_NET_DISABLE_INTRA", 0) != 1,
        pxn=parameter(settings, "NCCL_PXN_DISABLE", 0) != 1,
        pxn_c2c=bool(parameter(settings, "NCCL_PXN_C2C", 1)),
        nets_per_gpu=_policy(settings),
    )


def is_ignored(settings: Mapping[str, str], name: str) -> bool:
    """Whether NCCL cannot parse one of these settings and uses its default."""
    if name in ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL"):
        return _reach(settings, name) is None
    return name == "NCCL_NETDEVS_POLICY" and settings[name].upper() != "AUTO" and _policy(settings) is None


def _no_p2p(settings: Mapping[str, str]) -> PathTypeLimit | None:
    if parameter(settings, "NCCL_P2P_DISABLE", 0) != 1:
        return None
    return PathTypeLimit(type="LOC", source=f"NCCL_P2P_DISABLE={settings['NCCL_P2P_DISABLE']}")


def _reach(settings: Mapping[str, str], name: str) -> PathTypeLimit | None:
    """A level by its path type's name, else by its old integer; None if NCCL cannot parse it."""
    text = settings.get(name, "")
    if text in BY_NAME:
        return PathTypeLimit(type=text, source=f"{name}={text}")
    if text[:1] not in tuple("0123456789"):
        return None
    old = parameter(settings, name, len(OLD_LEVELS))
    return PathTypeLimit(type=OLD_LEVELS[min(old, len(OLD_LEVELS) - 1)], source=f"{name}={text}")


def _policy(settings: Mapping[str, str]) -> int | None:
    text = settings.get("NCCL_NETDEVS_POLICY", "")
    if text.upper() == "ALL":
        return UNLIMITED
    most = MAX_POLICY.match(text)
    return int(most[1]) or None if most else None
