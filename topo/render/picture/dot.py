# SPDX-License-Identifier: Apache-2.0
"""A picture as a Graphviz graph: a cluster for each NUMA node, wires as wide as their bandwidth."""

from collections.abc import Iterator

from railgauge.topo.nccl.graph.model import LinkKind
from railgauge.topo.render import palette
from railgauge.topo.render.picture.canvas import stroke_width
from railgauge.topo.render.picture.load_scale import load_class
from railgauge.topo.render.picture.parts import Picture, PicturePart, PictureWire
from railgauge.topo.values.printable import printable

COLOURED = (LinkKind.NVL, LinkKind.C2C, LinkKind.SYS)
"""All other links are drawn as PCIe."""


def dumps(picture: Picture) -> str:
    """The graph; undirected, since every wire has both directions."""
    head = _quoted("\n".join([picture.title, picture.subtitle, *picture.remarks]))
    lines = [
        f"graph {_quoted(picture.title)} {{",
        f"  label={head}; labelloc=t; labeljust=l;",
        '  fontname="sans-serif"; compound=true;',
        '  node [shape=box style="rounded,filled" fontname="sans-serif" fontsize=10];',
        '  edge [fontname="sans-serif" fontsize=9];',
        *(line for cpu in picture.cpus for line in _cluster(cpu)),
        *([f"  {_node(picture.switch)}"] if picture.switch else []),
        *(_edge(wire, wire.label, constraint=_is_below(picture, wire)) for wire in picture.wires),
        *(_edge(wire, "", constraint=False) for wire in picture.between_cpus),
    ]
    return "\n".join([*lines, "}\n"])


def _is_below(picture: Picture, wire: PictureWire) -> bool:
    """The NVSwitch stands below its GPUs; all other wires beside the tree do not move anything."""
    return picture.switch is not None and wire.ends[1] == picture.switch.id


def _cluster(cpu: PicturePart) -> Iterator[str]:
    yield f"  subgraph {_quoted('cluster ' + cpu.id)} {{"
    yield f'    style=rounded; color="{palette.RULE.light}"; label="";'
    for part in cpu.walk():
        yield f"    {_node(part)}"
        if part.up:
            yield f"  {_edge(part.up, '')}"
    yield "  }"


def _node(part: PicturePart) -> str:
    label = _quoted("\n".join([part.title, *(text for _, text in part.facts)]))
    colour = f' color="{palette.FAULTY.light}" penwidth=2' if part.faults else ""
    fill = palette.FILLS[part.kind].light
    return f'{_quoted(part.id)} [label={label} fillcolor="{fill}"{colour} tooltip={_quoted(part.note)}];'


def _edge(wire: PictureWire, label: str, *, constraint: bool = True) -> str:
    plain = palette.WIRES[wire.kind if wire.kind in COLOURED else LinkKind.PCI]
    kind = plain if wire.share is None else load_class(wire.share).colour
    colour = palette.FAULTY if wire.problem else kind
    colours = ":".join(palette.channel_colour(number).light for number in wire.channels) or colour.light
    width = 1.0 if wire.channels else stroke_width(wire.gb_per_s)
    shape = f'penwidth={width:g} color="{colours}"{" style=dashed" if wire.problem else ""}'
    extra = (f" label={_quoted(label)}" if label else "") + ("" if constraint else " constraint=false")
    return f"  {_quoted(wire.ends[0])} -- {_quoted(wire.ends[1])} [{shape}{extra}];"


def _quoted(text: str) -> str:
    r"""A quoted string of DOT, in which a line break is \n."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
