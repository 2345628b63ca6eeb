# SPDX-License-Identifier: Apache-2.0
"""The content of the picture of a result: bus bandwidth over size, out of place and in place, the prediction, a limit,
and an older result; a panel for each type, operator and root.

The limit is memory's within a node, measured beside each row (`Row.floor_us`), and between nodes what the planned
channels carry.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from railgauge.collectives.document import RunDocument
from railgauge.collectives.measure import Row
from railgauge.collectives.repeated import LEAST_GB_PER_S, WAYS, RowName, by_name, median_busbw, median_us
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.comparison import size_text


class CurveKind(StrEnum):
    """The kind of a curve; also its class in the SVG."""

    OUT_OF_PLACE = "out"
    IN_PLACE = "in"
    PREDICTED = "predicted"
    FLOOR = "floor"
    BOUND = "bound"
    DEPARTS = "departs"
    BEFORE_OUT_OF_PLACE = "out before"
    BEFORE_IN_PLACE = "in before"

    @property
    def label(self) -> str:
        """For the legend."""
        return LABELS[self]


LABELS = {
    CurveKind.OUT_OF_PLACE: "out of place",
    CurveKind.IN_PLACE: "in place",
    CurveKind.PREDICTED: "predicted",
    CurveKind.FLOOR: "measured memory limit",
    CurveKind.BOUND: "bound",
    CurveKind.DEPARTS: "below 3/4 of the forecast",
    CurveKind.BEFORE_OUT_OF_PLACE: "out of place, before",
    CurveKind.BEFORE_IN_PLACE: "in place, before",
}
NOW = (CurveKind.OUT_OF_PLACE, CurveKind.IN_PLACE)
BEFORE = (CurveKind.BEFORE_OUT_OF_PLACE, CurveKind.BEFORE_IN_PLACE)


@dataclass(frozen=True, slots=True)
class Point:
    """One size (bytes) and its bandwidth (GB/s), both more than 0; `note` is what hovering shows."""

    bytes: int
    gb_per_s: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Points by size."""

    kind: CurveKind
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Sizes, first to last in bytes, that one algorithm ran."""

    first: int
    last: int
    algorithm: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One type, operator and root."""

    title: str
    curves: tuple[Curve, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """Everything; `planned_gb_per_s` is what all planned channels carry together between nodes, None within one."""

    title: str
    command: str
    remark: str
    planned_gb_per_s: float | None
    panels: tuple[Panel, ...]

    @property
    def points(self) -> list[Point]:
        """The range of all curves."""
        return [point for panel in self.panels for curve in panel.curves for point in curve.points]

    @property
    def kinds(self) -> list[CurveKind]:
        """The kinds that occur, in the legend's order."""
        there = {curve.kind for panel in self.panels for curve in panel.curves}
        return [kind for kind in CurveKind if kind in there]


def chart(document: RunDocument, before: RunDocument | None = None) -> Chart:
    """The picture of a result, beside an older one of the same collective."""
    now = by_name(document.rows)
    old = by_name(before.rows) if before else {}
    variants = dict.fromkeys(name.variant for name in now)
    factor = Collective(document.collective).factor(document.ranks)
    return Chart(
        title=title(document),
        command=shlex.join(["railgauge", *document.command]),
        remark=remark(document, before),
        planned_gb_per_s=(document.planned_gb_per_s or None) if document.nodes > 1 else None,
        panels=tuple(_panel(variant, _of(now, variant), _of(old, variant), factor) for variant in variants),
    )


def title(document: RunDocument) -> str:
    """The title: collective, ranks and device."""
    ranks = f"{document.ranks} rank{'s' * (document.ranks != 1)}"
    nodes = f", {document.nodes} nodes" if document.nodes > 1 else ""
    memory = "host memory" if document.device == "cpu" else document.device
    return f"{document.collective}, {ranks}{nodes} on {document.host}, {memory}"


def remark(document: RunDocument, before: RunDocument | None) -> str:
    """The date, and the error."""
    parts = [document.time, *([f"before: {before.host}, {before.time}"] if before else [])]
    return "; ".join([*parts, *([f"failed: {document.error}"] if document.error else [])])


Named = dict[RowName, list[Row]]


def _of(rows: Named, variant: str) -> Named:
    return {name: rows[name] for name in sorted(rows) if name.variant == variant}


def _panel(variant: str, now: Named, old: Named, factor: float) -> Panel:
    curves = [
        Curve(CurveKind.FLOOR, _points((n.bytes, floor_busbw(rows, factor), "") for n, rows in now.items())),
        *(_measured(kind, way, old) for kind, way in zip(BEFORE, WAYS, strict=True)),
        Curve(CurveKind.PREDICTED, _points((n.bytes, rows[0].predicted_busbw_gb_per_s, "") for n, rows in now.items())),
        *(_measured(kind, way, now) for kind, way in zip(NOW, WAYS, strict=True)),
    ]
    return Panel(variant, tuple(curve for curve in curves if curve.points), tuple(_spans(list(now.items()))))


def floor_busbw(rows: Sequence[Row], factor: float) -> float:
    """The bus bandwidth of the shortest measured memory time, in GB/s; 0 if not measured."""
    floors = [row.floor_us for row in rows if row.floor_us]
    return rows[0].bytes / min(floors) / 1e3 * factor if floors else 0.0


def _measured(kind: CurveKind, way: str, rows: Named) -> Curve:
    points = ((n.bytes, median_busbw(found, way), _note(kind, way, n, found)) for n, found in rows.items())
    return Curve(kind, _points(points))


def _points(points: Iterable[tuple[int, float, str]]) -> tuple[Point, ...]:
    """Those that logarithmic axes can show."""
    return tuple(Point(*point) for point in points if point[0] > 0 and point[1] > LEAST_GB_PER_S)


def _note(kind: CurveKind, way: str, name: RowName, rows: Sequence[Row]) -> str:
    row = rows[0]
    channels = None if row.channels is None else f"{row.channels} channel{'s' * (row.channels != 1)}"
    how = ", ".join(text for text in (row.algorithm, row.protocol, channels) if text)
    speed = f"{median_busbw(rows, way):.3g} GB/s, {median_us(rows, way):.4g} us"
    return f"{size_text(name.bytes)} {kind.label}: {speed}{f'; {how}' if how else ''}"


def _spans(rows: list[tuple[RowName, list[Row]]]) -> Iterable[Span]:
    for algorithm, group in groupby(rows, key=lambda item: item[1][0].algorithm):
        sizes = [name.bytes for name, _ in group]
        if algorithm:
            yield Span(sizes[0], sizes[-1], algorithm)
