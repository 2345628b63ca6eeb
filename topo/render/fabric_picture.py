# SPDX-License-Identifier: Apache-2.0
"""A fabric as a picture: tiers from top to bottom, rails in colours, faulty cables dashed and red.

Cables between the same two boxes are one line with their number. A tier of many switches is folded: leaves by rail,
others by network; so that 2,048 nodes fit a page.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log2

from railgauge.topo.fabric.model import Cable
from railgauge.topo.fabric.places import find_places
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.fabric.rules import findings
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.render import palette
from railgauge.topo.render.markup import SANS, Paint, escape, picture, px, themed
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.printable import printable

MOST_BOXES = 16
"""Of one tier; more are folded."""
WIDE, HIGH, BESIDE, BETWEEN, MARGIN, HEAD = 138.0, 40.0, 14.0, 120.0, 24.0, 56.0
CHARACTERS = 21
"""Of a line of text in a box."""
MOST_FAULTS = 12
SHAPE = f"""\
text {{ font-family: {SANS}; font-size: 11px; white-space: pre }}
.title {{ font-size: 15px; font-weight: 600 }}
.name {{ font-weight: 600 }}
.box rect {{ stroke-width: 1.2 }}
.cable {{ fill: none }}
.faulty {{ stroke-dasharray: 7 4; stroke-width: 2.5 }}"""
Box = tuple[str, str]
"""Two lines of text; the same text is the same box."""


@dataclass(frozen=True, kw_only=True)
class FabricPicture:
    """What is drawn: rows of boxes from the top, for each pair of boxes their cables by rail, and the faulty ones."""

    examined: ExaminedFabric

    @cached_property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that mark something."""
        return tuple(one for one in findings(self.examined) if one.level in (Level.FAIL, Level.WARN))

    @cached_property
    def faulty(self) -> frozenset[Cable]:
        """The cables that a finding is about."""
        fabric, subjects = self.examined.fabric, {one.subject for one in self.faults}
        return frozenset(
            cable
            for cable in fabric.cables
            if subjects & {fabric.cable_name(cable), *(fabric.end_name(end) for end in cable.ends)}
        )

    @cached_property
    def box_of(self) -> Mapping[str, Box]:
        """The box of each device, by its key."""
        fabric, rails = self.examined.fabric, self.examined.rails
        found: dict[str, Box] = {}
        tiers: dict[int, list[str]] = {}
        for key, tier in fabric.tier_of.items():
            tiers.setdefault(tier, []).append(key)
        for tier, keys in tiers.items():
            kinds: dict[object, list[str]] = {}
            for key in keys:
                rail = rails.of_leaf.get(key)
                kind = (rail.name if rail else self.examined.fabric.network_of[key]) if len(keys) > MOST_BOXES else key
                kinds.setdefault(kind, []).append(key)
            for its in kinds.values():
                rail = rails.of_leaf.get(its[0])
                what = f"tier {tier}" if rail is None else rail.name
                names = folded(fabric.switches[key].name for key in its)
                found |= dict.fromkeys(its, (names, what if len(its) == 1 else f"{len(its)} switches, {what}"))
        for nodes in self._node_groups():
            text = (folded(nodes), f"{len(nodes)} nodes" if len(nodes) > 1 else "1 node")
            found |= {one.key: text for node in nodes for one in fabric.nodes[node]}
        return found

    def _node_groups(self) -> list[list[str]]:
        """Nodes that are one box: a block, or all; those that are on no compute rail as one."""
        fabric = self.examined.fabric
        blocks = [list(block.nodes) for block in find_places(fabric, self.examined.rails).blocks]
        if len(blocks) > MOST_BOXES:
            blocks = [[node for block in blocks for node in block]]
        known = {node for block in blocks for node in block}
        rest = [node for node in fabric.nodes if node not in known]
        return [*blocks, *([rest] if rest else [])]

    @cached_property
    def rows(self) -> list[list[Box]]:
        """The boxes from the top: the highest tier first, nodes last."""
        fabric = self.examined.fabric
        height = max(fabric.tier_of.values(), default=-1)
        rows = [
            list(dict.fromkeys(self.box_of[key] for key in self._in_order() if fabric.tier_of[key] == tier))
            for tier in range(height, -1, -1)
        ]
        return [*rows, list(dict.fromkeys(self.box_of[one.key] for one in fabric.endpoints))]

    def _in_order(self) -> list[str]:
        """The switches, leaves by rail."""
        leaves = list(self.examined.rails.of_leaf)
        return [*leaves, *(key for key in self.examined.fabric.switches if key not in set(leaves))]

    @cached_property
    def bundles(self) -> Mapping[tuple[Box, Box, int | None], int]:
        """How many sound cables there are between two boxes, of a rail by its place, or None."""
        counts: Counter[tuple[Box, Box, int | None]] = Counter()
        for cable in self.examined.fabric.cables:
            if cable not in self.faulty and (ends := self.ends(cable)):
                counts[(*ends, self._rail(cable))] += 1
        return counts

    def ends(self, cable: Cable) -> tuple[Box, Box] | None:
        """The boxes of a cable, the higher one first; None for one within a box or to what is not drawn."""
        place = {box: row for row, boxes in enumerate(self.rows) for box in boxes}
        boxes = [box for end in cable.ends if (box := self.box_of.get(end.device))]
        if len(boxes) < 2 or boxes[0] == boxes[1]:
            return None
        high, low = sorted(boxes, key=place.__getitem__)
        return high, low

    def _rail(self, cable: Cable) -> int | None:
        of_leaf = self.examined.rails.of_leaf
        rail = next((of_leaf[end.device] for end in cable.ends if end.device in of_leaf), None)
        return self.examined.rails.rails.index(rail) if rail else None


def fabric_svg(examined: ExaminedFabric) -> str:
    """The picture as SVG."""
    drawn = FabricPicture(examined=examined)
    fabric, rows = examined.fabric, drawn.rows
    across = max(map(len, rows), default=1)
    width = 2 * MARGIN + across * (WIDE + BESIDE) - BESIDE
    lines = [one.message for one in drawn.faults][:MOST_FAULTS]
    top = HEAD + 16 * len(examined.rails.rails)
    height = top + len(rows) * (HIGH + BETWEEN) - BETWEEN + MARGIN + 16 * len(lines)
    at: dict[Box, tuple[float, float]] = {}
    for row, boxes in enumerate(rows):
        step = (width - 2 * MARGIN + BESIDE) / max(1, len(boxes))
        for column, box in enumerate(boxes):
            at[box] = (MARGIN + step * column + (step - BESIDE - WIDE) / 2, top + row * (HIGH + BETWEEN))
    title = f"{len(fabric.switches)} switches, {len(fabric.endpoints)} ports of {len(fabric.nodes)} nodes"
    body = [
        f'<text class="title" x="{px(MARGIN)}" y="28">{escape(title)}</text>',
        *_legend(drawn),
        *_cables(drawn, at),
        *(_box(box, *place) for box, place in at.items()),
        *(
            f'<text class="wrong" x="{px(MARGIN)}" y="{px(height - MARGIN / 2 - 16 * (len(lines) - number - 1))}">'
            f"{escape(text)}</text>"
            for number, text in enumerate(lines)
        ),
    ]
    least = 2 * MARGIN + 7 * max([len(title), *map(len, lines)], default=0)
    return picture((max(width, least), height), title, f"{title}, by tier", _css(drawn), body)


def _css(drawn: FabricPicture) -> str:
    paint: list[Paint] = [
        (".page", "fill", palette.PAGE),
        ("text", "fill", palette.TEXT),
        (".quiet", "fill", palette.QUIET),
        (".wrong", "fill", palette.WRONG),
        (".box rect", "fill", palette.FRAME),
        (".box rect", "stroke", palette.EDGE),
        (".trunk", "stroke", palette.EDGE),
    ]
    colours = [(f".rail{place}", palette.channel_colour(place)) for place in range(len(drawn.examined.rails.rails))]
    paint += [(name, "stroke", colour) for name, colour in colours]
    paint += [(".cable.faulty", "stroke", palette.FAULTY)]
    return f"{SHAPE}\n{themed(paint)}"


def _legend(drawn: FabricPicture) -> Iterator[str]:
    for place, rail in enumerate(drawn.examined.rails.rails):
        y = 44 + 16 * place
        text = f"{rail.name} ({rail.role}): {', '.join(rail.devices)}"
        yield f'<path class="cable rail{place}" stroke-width="3" d="M {px(MARGIN)} {y} h 28"/>'
        yield f'<text x="{px(MARGIN + 36)}" y="{y + 4}">{escape(text)}</text>'


def _cables(drawn: FabricPicture, at: Mapping[Box, tuple[float, float]]) -> Iterator[str]:
    """Bundles of one pair of boxes side by side, faulty cables on top with their names."""
    several = Counter((high, low) for high, low, _ in drawn.bundles)
    seen: Counter[tuple[Box, Box]] = Counter()
    for (high, low, rail), count in drawn.bundles.items():
        seen[high, low] += 1
        shift = 5.0 * (seen[high, low] - (several[high, low] + 1) / 2)
        kind = "trunk" if rail is None else f"rail{rail}"
        title = f"{high[0]} - {low[0]}: {count} cables"
        yield _line(at[high], at[low], f"cable {kind}", title, shift, 1 + log2(count) / 2)
    for number, cable in enumerate(sorted(drawn.faulty, key=drawn.examined.fabric.cable_name)):
        if ends := drawn.ends(cable):
            title = drawn.examined.fabric.cable_name(cable)
            yield _line(at[ends[0]], at[ends[1]], "cable faulty", title, 9.0 + 4 * (number % 5), 2.5)


def _line(
    high: tuple[float, float], low: tuple[float, float], kind: str, title: str, shift: float, width: float
) -> str:
    x, y, there, below = high[0] + WIDE / 2 + shift, high[1] + HIGH, low[0] + WIDE / 2 + shift, low[1]
    path = f"M {px(x)} {px(y)} L {px(there)} {px(below)}"
    return f'<path class="{kind}" stroke-width="{px(width)}" d="{path}"><title>{escape(title)}</title></path>'


def _box(box: Box, x: float, y: float) -> str:
    first, second = (text if len(text) <= CHARACTERS else text[: CHARACTERS - 3] + "..." for text in box)
    middle = x + WIDE / 2
    return (
        f'<g class="box"><title>{escape(box[0])}: {escape(box[1])}</title>'
        f'<rect x="{px(x)}" y="{px(y)}" width="{px(WIDE)}" height="{px(HIGH)}" rx="5"/>'
        f'<text class="name" text-anchor="middle" x="{px(middle)}" y="{px(y + 16)}">{escape(first)}</text>'
        f'<text class="quiet" text-anchor="middle" x="{px(middle)}" y="{px(y + 31)}">{escape(second)}</text></g>'
    )


def fabric_dot(examined: ExaminedFabric) -> str:
    """The picture as a Graphviz graph: the same boxes and bundles."""
    drawn = FabricPicture(examined=examined)
    lines = ["graph fabric {", '  node [shape=box style=rounded fontname="sans-serif"];', "  rankdir=TB;"]
    for boxes in drawn.rows:
        names = " ".join(f"{_quoted(box[0])} [label={_quoted(chr(10).join(box))}];" for box in boxes)
        lines.append(f"  {{ rank=same; {names} }}")
    for (high, low, rail), count in drawn.bundles.items():
        colour = palette.EDGE.light if rail is None else palette.channel_colour(rail).light
        lines.append(f'  {_quoted(high[0])} -- {_quoted(low[0])} [label="{count}" color="{colour}"];')
    for cable in sorted(drawn.faulty, key=examined.fabric.cable_name):
        if ends := drawn.ends(cable):
            name = _quoted(examined.fabric.cable_name(cable))
            pair = f"{_quoted(ends[0][0])} -- {_quoted(ends[1][0])}"
            lines.append(f'  {pair} [label={name} style=dashed color="{palette.FAULTY.light}"];')
    return "\n".join([*lines, "}\n"])


def _quoted(text: str) -> str:
    escaped = printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
