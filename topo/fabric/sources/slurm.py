# SPDX-License-Identifier: Apache-2.0
"""Slurm's topology.conf, and what `scontrol show topology` prints of it.

SwitchName=leaf-0 Nodes=gpu[000-015] LinkSpeed=100
SwitchName=spine Switches=leaf-[0-1]
BlockName=b0 Nodes=gpu[000-017]
SwitchName=leaf-0 Level=0 LinkSpeed=1 Nodes=gpu[000-015]
"""

import re
from collections.abc import Iterable

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.fabric.sources.tree import add_node, add_switch
from railgauge.topo.files.lines import text_lines
from railgauge.topo.values.node_names import unfolded

MARK = re.compile(rb"^\s*(?:SwitchName|BlockName)=", re.MULTILINE | re.IGNORECASE)
PAIR = re.compile(r"(\w+)=(\S*)")
MOST = 1 << 17


def read(data: Iterable[bytes], parts: FabricParts) -> None:
    """Add switches and nodes; a switch that scontrol lists for all nodes below keeps those of its own."""
    rows = []
    whole = ""
    for line in text_lines(data):
        whole += line.partition("#")[0]
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        pairs = {key.lower(): value for key, value in PAIR.findall(whole)}
        whole = ""
        if name := pairs.get("switchname") or pairs.get("blockname"):
            rows.append((name, pairs))
    for name, pairs in rows:
        add_switch(parts, name)
        for below in _names(pairs.get("switches"), parts):
            add_switch(parts, below, above=name)
        if not pairs.get("switches"):
            for node in _names(pairs.get("nodes"), parts):
                add_node(parts, node, name)


def _names(text: str | None, parts: FabricParts) -> list[str]:
    if not text or text in ("(null)", "none"):
        return []
    try:
        return unfolded(text, MOST)
    except UsageError as error:
        raise InputError(str(error), parts.path) from None
