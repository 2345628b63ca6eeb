# SPDX-License-Identifier: Apache-2.0
"""Channels over a System: the search of rings and trees, and the records it answers with."""

from railgauge.topo.channels.graph import Bound, Channel, Graph, Graphs, Policy
from railgauge.topo.channels.search import search

__all__ = ["Bound", "Channel", "Graph", "Graphs", "Policy", "search"]
