# SPDX-License-Identifier: Apache-2.0
"""The legend of a picture: a sample of each kind of wire in it."""

from collections.abc import Sequence

from railgauge.topo.nccl.graph.model import LinkKind
from railgauge.topo.render.picture.canvas import Label, Stroke, TextRun
from railgauge.topo.render.picture.load_scale import SCALE as SCALE_OF_LOADS

WORDS = {
    LinkKind.PCI: "PCIe",
    LinkKind.MEM: "memory",
    LinkKind.NVL: "NVLink",
    LinkKind.C2C: "chip-to-chip",
    LinkKind.SYS: "between CPUs",
}
SAMPLE, GAP, ROW, WIDTH = 26.0, 8.0, 20.0, 4.0
OVER = 2.0  # a share for the sample of what is overloaded
SCALE = "the wider a line, the more GB/s; figures are NCCL's"


def legend(strokes: Sequence[Stroke], left: float, top: float, right: float) -> tuple[list[Stroke], list[Label], float]:
    """Samples, their words, and the y below them all; they flow between `left` and `right`."""
    plain = [stroke for stroke in strokes if stroke.share is None]  # colours of the others tell their load
    present = [(kind, False, word) for kind, word in WORDS.items() if any(s.kind is kind for s in plain)]
    present += [(LinkKind.PCI, True, "degraded or narrow")] if any(s.bad for s in strokes) else []
    samples, labels, x, y = list[Stroke](), list[Label](), left, top
    numbers = sorted({number for stroke in strokes for number in stroke.channels})
    loads = [(share, kind, bad, word, ()) for share, kind, bad, word in _loads(strokes)]
    channels = [(None, LinkKind.PCI, False, f"channel {number}", (number,)) for number in numbers]
    for share, kind, bad, word, used in [*loads, *((None, *one, ()) for one in present), *channels]:
        piece = TextRun(text=word)
        if x > left and x + SAMPLE + GAP + piece.width > right:
            x, y = left, y + ROW
        points = ((x, y - 4), (x + SAMPLE, y - 4))
        samples.append(Stroke(points=points, kind=kind, width=WIDTH, bad=bad, share=share, channels=used))
        labels.append(Label(x=x + SAMPLE + GAP, y=y, piece=piece))
        x += SAMPLE + GAP + piece.width + 2 * GAP
    scale = TextRun(text=SCALE)
    if x + scale.width > right:
        x, y = left, y + ROW
    return samples, [*labels, Label(x=x, y=y, piece=scale)], y


def _loads(strokes: Sequence[Stroke]) -> list[tuple[float, LinkKind, bool, str]]:
    """A sample of each class of load, where the strokes have loads."""
    if all(stroke.share is None for stroke in strokes):
        return []
    return [(min(one.most, OVER), LinkKind.PCI, False, one.words) for one in SCALE_OF_LOADS]
