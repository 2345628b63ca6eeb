# SPDX-License-Identifier: Apache-2.0
"""A bound's weights in words: the links that limit, and the GPUs that they separate."""

from railgauge import _native
from railgauge.topo.channels.graph import Bound
from railgauge.topo.channels.wiring import Wiring
from railgauge.topo.nccl.graph.model import Link, LinkKind, Node
from railgauge.topo.values.spans import listed

COUNTS = 1e-3  # links with a smaller share of the bound are not named
NAMED = 3  # links named; the rest is counted
DIGITS = 9
PARTS = 2


def bound_of(wiring: Wiring, found: _native.topo.BestChannels) -> Bound | None:
    """The bound with its reason; None without one."""
    if not found.weights:
        return None
    least = found.bound * 10.0**-DIGITS
    weights = [
        (wiring.links[number], round(weight, DIGITS))
        for number, weight in found.weights
        if weight * wiring.links[number].gb_per_s > least
    ]
    heavy = [link for link, weight in weights if weight * link.gb_per_s >= found.bound * COUNTS]
    return Bound(
        gb_per_s=round(sum(link.gb_per_s * weight for link, weight in weights), DIGITS - 3),
        why=_why(wiring, heavy),
        weights=tuple((link.source, link.target, weight) for link, weight in weights),
    )


def _why(wiring: Wiring, links: list[Link]) -> str:
    named = _links_in_words(links)
    groups = _parted(wiring, links)
    if len(groups) != PARTS or min(map(len, groups)) == 1:
        return named
    return f"cut between GPUs {' and '.join(span(group) for group in groups)}: {named}"


def _links_in_words(links: list[Link]) -> str:
    cards = {end for end in {links[0].source, links[0].target} if all(end in (x.source, x.target) for x in links)}
    card = next((end for end in sorted(cards) if end.startswith("DEV/")), None)
    if card and {link.kind for link in links} == {LinkKind.NVL}:
        return f"NVLinks of {_rank_id(card)}"
    words = list(dict.fromkeys(_in_words(link) for link in links))
    rest = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    count = f"{len(words)} links: " if len(words) > 1 else ""
    return f"{count}{', '.join(words[:NAMED])}{rest}"


def _in_words(link: Link) -> str:
    if link.kind is LinkKind.NET:
        return f"NIC {link.source if link.source.startswith('NET/') else link.target}"
    if link.kind is LinkKind.PCI:
        for end in (link.source, link.target):
            if end.startswith(("DEV/", "NIC/")):
                return f"PCI link of {_rank_id(end)}"
    name = "NVLink" if link.kind is LinkKind.NVL else f"{link.kind} link"
    return f"{name} {_rank_id(link.source)} -> {_rank_id(link.target)}"


def _rank_id(node_id: str) -> str:
    """A card by the id of its GPU."""
    return f"GPU/{node_id.removeprefix('DEV/')}" if node_id.startswith("DEV/") else node_id


def _parted(wiring: Wiring, links: list[Link]) -> list[list[Node]]:
    """Groups of ranks that are connected without these links."""
    limits = {number for number, link in enumerate(wiring.links) if link in links}
    count = len(wiring.ranks)
    free = [
        {
            b
            for b in range(count)
            if a == b or ((hops := wiring.step(a, b)[3]) and not any(hop[0] in limits for hop in hops))
        }
        for a in range(count)
    ]
    groups: list[list[int]] = []
    for rank in range(count):
        home = next((group for group in groups if rank in free[group[0]] and group[0] in free[rank]), None)
        if home is None:
            groups.append([rank])
        else:
            home.append(rank)
    return [[wiring.ranks[number] for number in group] for group in groups]


def span(ranks: list[Node]) -> str:
    """Ranks by number: 0-3,6."""
    return listed(sorted(rank.rank or 0 for rank in ranks))
