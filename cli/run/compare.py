# SPDX-License-Identifier: Apache-2.0
"""`railgauge run --compare OLD`: compares each size with an older result, as text below the table or as the
document railgauge/diff/1.
"""

import shlex
from dataclasses import dataclass
from typing import Any

from railgauge.cli import output
from railgauge.collectives import result_file
from railgauge.collectives.comparison import ComparedRow, Comparison, compare
from railgauge.collectives.document import RunDocument
from railgauge.collectives.report.nccl_tests import number
from railgauge.collectives.table_result import load_table
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Collective

FACTS = ("ranks", "nodes", "device")
"""What two results should share to be comparable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Older:
    """The result to compare with, and the share of its speed that may be lost."""

    path: str
    result: RunDocument
    tolerance: float

    def compare(self, now: RunDocument) -> Comparison:
        """Row by row."""
        return compare(self.result.rows, now.rows, self.tolerance)

    def document(self, now: RunDocument, found: Comparison) -> dict[str, Any]:
        """The document railgauge/diff/1; `changes`: facts that differ, rows that one side lacks, slower rows."""
        return output.document(
            "diff",
            now.host,
            before={"source": self.path, "host": self.result.host},
            after={"source": shlex.join(now.command), "host": now.host},
            changes=[*_facts(self, now), *_missing(self, found), *map(_slower, found.worse)],
            tolerance=self.tolerance,
            rows=[_row(row) for row in found.rows],
        )

    def text(self, now: RunDocument, found: Comparison) -> str:
        """The comparison as comment lines (#), which parsers of nccl-tests' output skip."""
        old = self.result
        verdict = f"{len(found.worse)} of {len(found.rows)} {'FAILED' if found.worse else 'OK'}"
        lines = [
            f"Compared with {self.path}: {', '.join(filter(None, (old.host, old.time)))}; speed 2 is twice as fast",
            *(change["message"] for change in (*_facts(self, now), *_missing(self, found))),
            *(_heading() if found.rows else []),
            *(_line(*pair) for pair in zip(found.rows[::2], found.rows[1::2], strict=True)),
            f"{f'Below speed {1 - self.tolerance:.4g}':<20} : {verdict}",
        ]
        return "\n".join(["#", *(f"# {line}".rstrip() for line in lines), "#"])

    def worst(self, found: Comparison) -> str:
        """The verdict in one line, for stderr."""
        row = min(found.worse, key=lambda row: row.speed)
        return (
            f"{len(found.worse)} of {len(found.rows)} measurements are slower than in {self.path} by more than "
            f"{self.tolerance * 100:.4g} %; worst: {_subject(row)}, {row.speed:.2g} x"
        )


def load(path: str, tolerance: float, collective: Collective) -> Older:
    """Read OLD.

    Raises:
        InputError: it is no result. UsageError: it is a result of another collective.
    """
    result = load_table(path, collective) or result_file.load(path)
    if result.collective != collective:
        raise UsageError(f"--compare {path}: it holds a result of {result.collective}, not of {collective}")
    return Older(path=path, result=result, tolerance=tolerance)


def _heading() -> list[str]:
    left = " " * len(_columns("", "", "", ""))
    return [
        left + f"{'out-of-place':>27}{'in-place':>27}",
        _columns("size", "type", "redop", "root") + 2 * _measures("before", "now", "speed"),
        _columns("(B)", "", "", "") + 2 * _measures("(us)", "(us)", "(x)"),
    ]


def _columns(size: str, dtype: str, redop: str, root: str) -> str:
    return f"{size:>12}  {dtype:>8}  {redop:>6}  {root:>6}"


def _measures(before: str, now: str, speed: str) -> str:
    return f"  {before:>8} {now:>8}  {speed:>6}"


def _line(out_of_place: ComparedRow, in_place: ComparedRow) -> str:
    name = out_of_place.name
    left = _columns(str(name.bytes), name.dtype, name.redop, str(name.root))
    cells = "".join(
        _measures(number(way.before_us, 8), number(way.after_us, 8), f"{way.speed:.2f}")
        for way in (out_of_place, in_place)
    )
    return left + cells + ("  slower" if out_of_place.worse or in_place.worse else "")


def _subject(row: ComparedRow) -> str:
    return f"{row.name} {row.way.replace('_', ' ')}"


def _facts(older: Older, now: RunDocument) -> list[dict[str, Any]]:
    pairs = [(fact, str(getattr(older.result, fact)), str(getattr(now, fact))) for fact in FACTS]
    return [
        _change("run", fact, before, after, f"{fact}: {before} then, {after} now")
        for fact, before, after in pairs
        if before != after
    ]


def _missing(older: Older, found: Comparison) -> list[dict[str, Any]]:
    gone = [_change(str(name), "row", "measured", None, f"not measured now: {name}") for name in found.only_before]
    new = [_change(str(name), "row", None, "measured", f"not in {older.path}: {name}") for name in found.only_after]
    return [*gone, *new]


def _slower(row: ComparedRow) -> dict[str, Any]:
    before, after = f"{row.before_us:.4g}", f"{row.after_us:.4g}"
    message = f"{_subject(row)}: {before} us then, {after} us now, {row.speed:.2g} x"
    return _change(_subject(row), "time_us", before, after, message)


def _change(subject: str, what: str, before: str | None, after: str | None, message: str) -> dict[str, Any]:
    return {"subject": subject, "what": what, "before": before, "after": after, "message": message}


def _row(row: ComparedRow) -> dict[str, Any]:
    return {
        **row.name._asdict(),
        "way": row.way,
        "before_us": row.before_us,
        "after_us": row.after_us,
        "before_busbw_gb_per_s": row.before_busbw_gb_per_s,
        "after_busbw_gb_per_s": row.after_busbw_gb_per_s,
        "speed": row.speed,
        "worse": row.worse,
    }
