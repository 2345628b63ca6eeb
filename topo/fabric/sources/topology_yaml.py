# SPDX-License-Identifier: Apache-2.0
"""Slurm's topology.yaml (25.05 and newer): trees and blocks.

- topology: fabric
  cluster_default: true
  tree:
    switches:
      - {switch: spine, children: "leaf-[0-1]"}
      - {switch: leaf-0, nodes: "gpu[000-015]"}
"""

import re
from collections.abc import Iterable
from typing import Any

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.fabric.sources.tree import add_node, add_switch
from railgauge.topo.values.node_names import unfolded

MARK = re.compile(rb"^\s*-?\s*topology:\s", re.MULTILINE)
LARGEST = 64 << 20
MOST = 1 << 17


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add the default topology, else the first. InputError if it is no such file."""
    text = b"".join(data)
    if len(text) > LARGEST:
        raise InputError(f"more than {LARGEST >> 20} MiB", parts.path)
    import yaml

    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"not YAML: {str(error).splitlines()[0][:200]}", parts.path) from None
    plans = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if not plans:
        raise InputError("no list of topologies", parts.path)
    plan = next((one for one in plans if one.get("cluster_default")), plans[0])
    for row in _rows(plan, "tree", "switches"):
        name = str(row.get("switch", ""))
        add_switch(parts, name)
        for below in _names(row.get("children"), parts):
            add_switch(parts, below, above=name)
        for node in _names(row.get("nodes"), parts):
            add_node(parts, node, name)
    for row in _rows(plan, "block", "blocks"):
        add_switch(parts, str(row.get("block", "")))
        for node in _names(row.get("nodes"), parts):
            add_node(parts, node, str(row.get("block", "")))


def _rows(plan: dict[str, Any], kind: str, many: str) -> list[dict[str, Any]]:
    part = plan.get(kind)
    rows = part.get(many) if isinstance(part, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _names(value: object, parts: FabricParts) -> list[str]:
    if not isinstance(value, str) or not value:
        return []
    try:
        return unfolded(value, MOST)
    except UsageError as error:
        raise InputError(str(error), parts.path) from None
