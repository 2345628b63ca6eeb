# SPDX-License-Identifier: Apache-2.0
"""Instance topology of clouds, in JSON: `aws ec2 describe-instance-topology` and `oci compute compute-host list`.

{"Instances": [{"InstanceId": "i-1", "NetworkNodes": ["nn-top", "nn-middle", "nn-leaf"]}]}
{"data": {"items": [{"instance-id": "ocid1...", "hpc-island-id": "...", "network-block-id": "...",
                     "local-block-id": "..."}]}}
"""

import re
from collections.abc import Iterable
from typing import Any

from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.fabric.sources.tree import add_node, add_switch
from railgauge.topo.files.json_items import json_items

MARK = re.compile(rb'"NetworkNodes"\s*:|"(?:local-block-id|localBlockId)"\s*:')
OCI_TIERS = (
    ("hpc-island-id", "hpcIslandId"),
    ("network-block-id", "networkBlockId"),
    ("local-block-id", "localBlockId"),
)
OCI_NODE = ("instance-id", "instanceId")


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add each instance below its tiers, the highest first."""
    for key, value in json_items(data, parts.path):
        rows = value.get("items") if key == "data" and isinstance(value, dict) else [value]
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict):
                _instance(row, parts)


def _instance(row: dict[str, Any], parts: FabricParts) -> None:
    tiers = row.get("NetworkNodes")
    if isinstance(tiers, list):
        name, path = row.get("InstanceId"), [tier for tier in tiers if isinstance(tier, str)]
    else:
        name = _first(row, OCI_NODE)
        path = [tier for names in OCI_TIERS if (tier := _first(row, names))]
    if not isinstance(name, str) or not path:
        return
    for above, tier in zip(["", *path], path, strict=False):
        add_switch(parts, tier, above=above)
    add_node(parts, name, path[-1])


def _first(row: dict[str, Any], names: Iterable[str]) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str) and value), "")
