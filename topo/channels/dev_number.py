# SPDX-License-Identifier: Apache-2.0
"""The number of a GPU or NIC in a channel and in a graph file."""

from railgauge.topo.nccl.graph.model import Node

SYSTEM_SHIFT = 56


def dev_number(node: Node) -> int:
    """Its dev, with the number of its host in the highest byte (NCCL's graph XML: `ncclTopoGetXmlFromChannel`)."""
    return node.system << SYSTEM_SHIFT | (node.dev or 0)
