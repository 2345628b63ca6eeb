# SPDX-License-Identifier: Apache-2.0
"""nchannels that is not the number of channels, or exceeds NCCL's limit.

NCCL uses nchannels and reads missing channels as GPU 0 (`ncclTopoGetGraphFromXmlSub`); it doubles the channels
into a table of 64 (`ncclTopoPreset`).
"""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.channels.graph import MAX_CHANNELS
from railgauge.topo.errors import InputError
from railgauge.topo.findings.cards.graph_file import CHANNEL_COUNT
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule
from railgauge.topo.xml.element import to_integer


def _check(file: GraphFile) -> Iterator[Finding]:
    for graph in file.main():
        there = sum(1 for _ in graph.all("channel"))
        try:
            said = to_integer(graph.get("nchannels") or str(there), "nchannels", None, None)
        except InputError:
            continue  # attribute_missing.py
        about: dict[str, Any] = {"nchannels": said, "channels": there}
        if said > MAX_CHANNELS:
            message = f"nchannels is {said}: NCCL runs each channel twice and supports {2 * MAX_CHANNELS}"
            yield RULE.of_graph(Level.FAIL, graph, message, effect="NCCL writes past the end of its table", **about)
        elif said > there:
            message = f"nchannels is {said}, but the file has {there} channels"
            yield RULE.of_graph(Level.FAIL, graph, message, effect="NCCL reads the missing ones as rank 0", **about)
        elif said < there:
            effect = f"NCCL uses the first {said}" if said > 0 else "NCCL searches channels of its own"
            message = f"nchannels is {said}, but the file has {there} channels"
            yield RULE.of_graph(Level.WARN, graph, message, effect=effect, **about)


RULE = GraphFileRule(card=CHANNEL_COUNT, check=_check)
