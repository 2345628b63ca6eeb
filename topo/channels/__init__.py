# SPDX-License-Identifier: Apache-2.0
"""Channels over a System: the search of rings and trees, and the records it answers with."""

from railgauge.topo.channels.graph import Channel, Graph, Graphs
from railgauge.topo.channels.search import search

__all__ = ["Channel", "Graph", "Graphs", "search"]
