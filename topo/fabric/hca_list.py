# SPDX-License-Identifier: Apache-2.0
"""NCCL_IB_HCA that tells NCCL 2.30 and newer the rail and plane of each port: `=mlx5_0:1:0,mlx5_1:1:1:0`.

The form is device:port:rail:plane, exact names by the leading `=` (`ncclIbInitDevices`; topo/nccl/settings/hca.py).
"""

from collections.abc import Mapping

from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
from railgauge.topo.fabric.rails import FabricRails, Rail, RailRole, rail_of
from railgauge.topo.values.number import natural


def hca_lists(fabric: FabricMap, rails: FabricRails) -> Mapping[str, tuple[str, ...]]:
    """The nodes by their list, the most frequent first; without ports that have no device name or no compute rail."""
    entries: dict[str, list[tuple[int, int, str]]] = {}
    for one in fabric.leaf_of:
        rail = rail_of(fabric, rails, one)
        if one.device and rail is not None and rail.role is RailRole.COMPUTE:
            entries.setdefault(one.node, []).append((rail.number, rail.plane or 0, _entry(one, rail, rails)))
    found: dict[str, list[str]] = {}
    for node, its in entries.items():
        found.setdefault("=" + ",".join(text for _, _, text in sorted(its)), []).append(node)
    order = sorted(found, key=lambda text: -len(found[text]))
    return {text: tuple(sorted(found[text], key=natural)) for text in order}


def _entry(one: FabricEndpoint, rail: Rail, rails: FabricRails) -> str:
    """device:port:rail:plane; without rails that are separate, device:port alone."""
    device, _, named = one.device.partition(":")
    port = named or one.port
    numbers = [rail.number] if rails.separate else []
    numbers += [rail.plane] if rail.plane is not None and rails.separate else []
    return ":".join([device, port, *map(str, numbers)])
