# SPDX-License-Identifier: Apache-2.0
"""What NCCL's log (NCCL_DEBUG=INFO, subsystems INIT, GRAPH, ENV) says of the channels that it uses."""

import re

CHANNEL = re.compile(r"Channel (\d+)/(\d+) :((?:\s+\d+)+)\s*$", re.MULTILINE)
LOADED = re.compile(r"Search (\d+) : (\d+) channels loaded from XML graph")
TRANSPORT = re.compile(r"Channel \d+/\d+ : \d+\[\d+\] -> \d+\[\d+\] via (\S+)")


def rings(text: str) -> list[tuple[int, ...]]:
    """The ring of each channel, from rank 0 on."""
    found = {int(number): tuple(map(int, order.split())) for number, _, order in CHANNEL.findall(text)}
    return [from_zero(found[number]) for number in sorted(found)]


def loaded(text: str) -> dict[int, int]:
    """How many channels came from the graph file, by graph number (0 ring, 1 tree)."""
    return {int(graph): int(count) for graph, count in LOADED.findall(text)}


def transports(text: str) -> list[str]:
    """The transports named, each once."""
    return sorted(set(TRANSPORT.findall(text)))


def from_zero(order: tuple[int, ...]) -> tuple[int, ...]:
    """The same ring, written from rank 0 on."""
    at = order.index(0)
    return order[at:] + order[:at]
