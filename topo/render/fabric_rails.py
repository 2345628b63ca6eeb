# SPDX-License-Identifier: Apache-2.0
"""The rails of a fabric as text and as the document railgauge/rails/1."""

import shlex
from collections.abc import Iterator
from typing import Any

from railgauge.topo.fabric.hca_list import hca_lists
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.rails import FabricRails
from railgauge.topo.render.fabric import rail_record, rail_table
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.values.node_names import folded


def rails_lines(fabric: FabricMap, rails: FabricRails) -> Iterator[Line]:
    """The rails, and NCCL_IB_HCA for the nodes, nodes with equal ones together."""
    yield from rail_table(fabric, rails)
    if not rails.separate:
        yield line("no rails: the compute NICs of a node share their leaves", Ink.NOTE)
    yield line("")
    for setting, nodes in hca_lists(fabric, rails).items():
        yield line(f"# {folded(nodes)}", Ink.QUIET)
        yield line(f"NCCL_IB_HCA={shlex.quote(setting)}")


def rails_document(fabric: FabricMap, rails: FabricRails) -> dict[str, Any]:
    """What the document holds beside its head."""
    return {
        "separate": rails.separate,
        "rails": [rail_record(fabric, rail) for rail in rails.rails],
        "settings": [
            {"nodes": list(nodes), "nccl_ib_hca": setting} for setting, nodes in hca_lists(fabric, rails).items()
        ],
    }
