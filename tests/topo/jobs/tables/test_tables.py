# SPDX-License-Identifier: Apache-2.0
"""Tables in any text: of several programs, cut, garbled, hostile, far apart in a long log."""

import dataclasses
import json
import math
import random
import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from railgauge.topo.jobs.tables import tables
from railgauge.topo.jobs.tables.documents import LONGEST, Documents
from railgauge.topo.jobs.tables.draft import MOST_IN_ALL, MOST_ROWS, Drafts
from railgauge.topo.jobs.tables.table import Measurement, Program, TableRow
from railgauge.topo.jobs.tables.tables import NEAR, Tables, read_tables
from railgauge.topo.jobs.tables.text_line import text_line

OUTPUTS = {path.name: path.read_text() for path in sorted((Path(__file__).parent / "outputs").iterdir())}
NCCL = OUTPUTS["nccl-tests-2.17.6.txt"]
HOSTILE = [
    "1e999",
    "nan",
    "-1",
    "-inf",
    "1e-400",
    "9" * 30,
    "7" * 5000,
    "null",
    "true",
    "[]",
    "{",
    "\0",
    "\N{FULLWIDTH DIGIT NINE}",
]
MESSAGES = "".join(
    f"node-{rank % 8}:{4000 + rank}:{5000 + rank} [{rank % 8}] NCCL INFO Channel {rank:02}/0 : {rank}[{rank % 8}] -> "
    f"{rank + 1}[{(rank + 1) % 8}] [send] via NET/IB/{rank % 8}/GDRDMA\n"
    f"node-{rank % 8}:{4000 + rank}:{5000 + rank} [{rank % 8}] NCCL INFO      Hop 1: id 0000:{rank:02}:00.0\n"
    for rank in range(64)
)
FAR = MESSAGES * (4 * NEAR // len(MESSAGES))


def figures(table) -> Iterator[float]:
    """Every number of a table."""
    ways = [way for row in table.rows for way in (row.out_of_place, row.in_place) if way]
    for record in (table, *table.rows, *ways):
        for field in dataclasses.fields(record):
            if isinstance(value := getattr(record, field.name), int | float):
                yield -1 if field.name == "root" and value == -1 else value


def check(text: str | bytes) -> None:
    """A text is read, and no figure of it is impossible."""
    for table in read_tables(text):
        assert table.rows
        assert all(math.isfinite(value) and value >= -1 for value in figures(table))
        assert all(len(text) < 1000 for row in table.rows for text in (row.dtype, row.redop, row.source, row.target))


def programs(text: str) -> list[Program]:
    return [table.program for table in read_tables(text)]


@pytest.mark.parametrize("name", OUTPUTS)
def test_nothing_between_two_programs(name):
    """One program behind another, in both orders, reads as each alone."""
    alone = [(table.program, table.test, table.rows) for table in read_tables(OUTPUTS[name])]
    other = [(table.program, table.test, table.rows) for table in read_tables(NCCL)]
    for text, expected in (
        (OUTPUTS[name] + "\n" + NCCL, alone + other),
        (NCCL + "\n" + OUTPUTS[name], other + alone),
    ):
        assert [(table.program, table.test, table.rows) for table in read_tables(text)] == expected


@pytest.mark.parametrize("name", OUTPUTS)
def test_lines_of_two_programs_by_turns(name):
    """Whatever is lost of JSON over several lines, no figure gets into another program's table."""
    lines, others = OUTPUTS[name].splitlines(), ["step 17 loss 2.0431 tokens/s 81000"] * 60
    mixed = "\n".join(line for pair in zip(lines, others, strict=False) for line in pair)
    if name != "nvbandwidth.json":
        assert [table.rows for table in read_tables(mixed)] == [table.rows for table in read_tables(OUTPUTS[name])]


@pytest.mark.parametrize("name", OUTPUTS)
def test_cut_at_any_byte(name):
    text = OUTPUTS[name]
    whole = read_tables(text)
    for end in range(0, len(text), 7):
        check(text[:end])
        for table, full in zip(read_tables(text[:end]), whole, strict=False):
            assert table.line == full.line
            assert len(table.rows) <= len(full.rows)


@pytest.mark.parametrize("name", OUTPUTS)
def test_blocks_of_any_size(name):
    raw = OUTPUTS[name].encode()
    for size in (1, 7, 100):
        assert read_tables(raw[at : at + size] for at in range(0, len(raw), size)) == read_tables(raw)


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name.endswith("txt") and "mscclpp" not in name])
def test_rows_wrapped_at_80_columns_are_joined_or_left_out(name):
    text = OUTPUTS[name]
    wrapped = "\n".join(line[at : at + 80] for line in text.splitlines() for at in range(0, max(len(line), 1), 80))
    known = {row for table in read_tables(text) for row in table.rows}
    found = [row for table in read_tables(wrapped) for row in table.rows]
    assert {(row.size, row.out_of_place.time_us) for row in found} <= {
        (row.size, row.out_of_place.time_us) for row in known
    }


def test_rows_of_nccl_tests_wrapped_at_80_columns():
    text = OUTPUTS["nccl-tests-2.17.6.txt"]
    wrapped = "\n".join(line[at : at + 80] for line in text.splitlines() for at in range(0, max(len(line), 1), 80))
    assert [table.rows for table in read_tables(wrapped)] == [table.rows for table in read_tables(text)]


@pytest.mark.parametrize("seed", range(8))
def test_garbled(seed):
    drawn = random.Random(seed)
    for text in OUTPUTS.values():
        raw = bytearray(text.encode())
        for _ in range(20):
            raw[drawn.randrange(len(raw))] = drawn.randrange(256)
        check(bytes(raw))
        check(drawn.randbytes(3000) + text.encode())
        check(re.sub(r"\d+(\.\d+)?", lambda found: drawn.choice(HOSTILE) if drawn.random() < 0.1 else found[0], text))
        check(re.sub(r"[^\s\"]+", lambda found: drawn.choice(HOSTILE) if drawn.random() < 0.05 else found[0], text))
        lines = text.splitlines()
        drawn.shuffle(lines)
        check("\n".join(lines))


def test_very_long_lines():
    for text in OUTPUTS.values():
        check("x 1 " * 100_000 + text)
        check(text.replace("\n", " " * 100_000 + "\n", 3))
    check("COMMS-RES" + " COMMS-RES" * 10_000 + " !   1")
    check("{" * 200_000)
    check("[" * 200_000 + "\n" + '{"coll_perf":' * 100_000)


def test_an_object_that_does_not_end_is_given_up():
    """What follows a brace is read as text again, and is not kept."""
    assert read_tables("{\n" + NCCL)[0].rows == read_tables(NCCL)[0].rows
    opened = "#minBytes \n{\n" + '"a": 1,\n' * 100_000
    assert read_tables(opened + "}\n" + NCCL)[0].rows == read_tables(NCCL)[0].rows


@pytest.mark.parametrize(("line", "times"), [(b'"a": "%s",' % (b"x" * LONGEST), 1), (b"}", 8)])
def test_an_object_that_does_not_end_is_not_kept(line, times):
    documents = Documents()
    documents.take(text_line(b"{", 1))
    documents.take(text_line(b'"b": 1,', 2))
    for number in range(times):
        assert documents.begun
        documents.take(text_line(line, number))
    assert not documents.begun


def test_lines_of_containers():
    wrapped = "".join(json.dumps({"log": line + "\n", "stream": "stdout"}) + "\n" for line in NCCL.splitlines())
    assert read_tables(wrapped)[0].rows == read_tables(NCCL)[0].rows


@pytest.mark.parametrize("name", sorted(OUTPUTS.keys() - {"inspector.jsonl", "rccl-tests.json"}))
def test_tables_far_from_each_other(name):
    """Lines far from a table are not split, yet counted; a later table is found again."""
    text = OUTPUTS[name].replace("\r", "")
    text += "" if text.endswith("\n") else "\n"
    known = read_tables(text)
    found = read_tables(FAR + text + FAR + text + FAR)
    assert [table.rows for table in found] == [table.rows for table in known] * 2
    before, between = FAR.count("\n"), 2 * FAR.count("\n") + text.count("\n")
    assert [table.line for table in found] == [table.line + skipped for skipped in (before, between) for table in known]
    assert [table.complete for table in found] == [table.complete for table in known] * 2


def test_rows_far_from_their_heading():
    lines = NCCL.splitlines(keepends=True)
    assert read_tables("".join(line + FAR for line in lines))[0].rows == read_tables(NCCL)[0].rows


def test_a_log_reads_as_fast_behind_a_table():
    """As it reads before any: once, every line behind a table was split, at a fifth of the speed."""

    def seconds(text: str) -> float:
        raw, taken = text.encode(), []
        for _ in range(3):
            begin = time.process_time()
            Tables().take(raw)
            taken.append(time.process_time() - begin)
        return min(taken)

    assert seconds(NCCL + FAR * 20) < 2 * seconds(FAR * 20) + seconds(NCCL + FAR)


@pytest.mark.parametrize(
    "line",
    [
        " iteration {:8d}/ 50000 | elapsed time (ms): 1520.1 | lm loss: 2.1E+00 | skipped iterations:   0 |",
        "step {:8d}   loss 2.4142   lr 3.000e-04   tok/s 51234",
        "Epoch: [0][{:5d}/1736]   Time  0.512 ( 0.500)   Loss 5.1e-01 (5.2e-01)   RMSE 0.7153",
    ],
)
def test_lines_of_iterations_are_no_rows(monkeypatch, line):
    """Nor is any of them read as one: logs of days have little else."""
    taken = []
    monkeypatch.setattr(tables, "text_line", lambda raw, number: taken.append(raw) or text_line(raw, number))
    log = "".join(line.format(number) + "\n" for number in range(2000))
    read_tables(log)
    assert not taken
    assert read_tables(log + NCCL + log)[0].rows == read_tables(NCCL)[0].rows


def test_rows_of_all_tables_are_bounded():
    drafts, row = Drafts(Program.OSU), TableRow(size=1, out_of_place=Measurement(time_us=1))
    for number in range(MOST_IN_ALL // MOST_ROWS + 1):
        table = drafts.begin(number)
        for _ in range(MOST_ROWS):
            table.add(row)
    assert sum(len(table.rows) for table in drafts.tables()) == MOST_IN_ALL
    assert table.left_out == MOST_ROWS


def test_memory_is_bounded():
    row = next(line for line in NCCL.splitlines(keepends=True) if line.startswith("  1073741824"))
    tables = Tables()
    tables.take(NCCL[: NCCL.index("  1073741824")].encode())
    block = (row * 1000).encode()
    for _ in range(MOST_ROWS // 1000 + 1):
        tables.take(block)
    tracemalloc.start()
    tables.take(block)
    begin = tracemalloc.get_traced_memory()[0]
    tables.take(block)
    assert tracemalloc.get_traced_memory()[0] - begin < 1 << 20
    tracemalloc.stop()
    (table,) = tables.found()
    assert (len(table.rows), table.left_out) == (MOST_ROWS, 19_000 - MOST_ROWS)
