# SPDX-License-Identifier: Apache-2.0
"""The published tables are consistent in themselves, and both halves hold enough to set constants and to judge."""

import collections
import json

import pytest
from benchmarks.predict.published import TABLES, half, read

from railgauge.topo.findings.card import cards
from railgauge.topo.machine import load_machine

PUBLISHED = read()
# Bus bandwidth over bytes / time, by ranks: the factors of nccl-tests' doc/PERFORMANCE.md.
FACTORS = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1,
    "reduce": lambda ranks: 1,
    "sendrecv": lambda ranks: 1,
}


def named(table) -> str:
    return f"{table.source.removeprefix('https://github.com/')} {table.title}"


@pytest.mark.parametrize("table", PUBLISHED, ids=named)
def test_bandwidth_is_that_of_the_time(table):
    factor = FACTORS[table.collective](table.ranks)
    for row in table.rows:
        for us, busbw in ((row.us, row.busbw), (row.in_place_us, row.in_place_busbw)):
            if us is not None and busbw is not None:
                # Both are rounded: the bandwidth to 0.01, the time to four digits or to 0.01 us.
                assert row.bytes / us / 1e3 * factor == pytest.approx(busbw, rel=0.003, abs=0.0101), row


@pytest.mark.parametrize("table", PUBLISHED, ids=named)
def test_a_table_is_whole(table):
    assert table.source.startswith("https://")
    assert table.ranks == table.machine.nodes * table.machine.gpus_per_node >= 2
    assert (table.machine.network or table.machine.nics) is None or table.machine.nodes > 1
    assert bool(table.rows) != (table.peak_busbw is not None)
    sizes = [row.bytes for row in table.rows]
    assert sizes == sorted(set(sizes))
    assert 0 not in sizes
    assert all(any(figure is not None for figure in row[1:]) for row in table.rows)
    assert all(name.startswith(("NCCL_", "RCCL_")) for name in table.settings)


@pytest.mark.parametrize("table", PUBLISHED, ids=named)
def test_a_verdict_has_its_reason(table):
    assert table.verdict in ("healthy", "faulty", "unknown")
    assert table.cause is None or table.cause in cards()
    assert (table.why is not None) == (table.verdict == "faulty")
    assert not table.wrong or table.cause == "wrong-results"


def test_fixtures_exist():
    for sku in {table.machine.sku for table in PUBLISHED} - {None}:
        load_machine(sku)


def test_no_table_comes_twice():
    """Neither in one source nor in two: a copy in the other half would judge what set the constants."""
    rows = collections.Counter(
        (table.collective, table.ranks, tuple(table.rows)) for table in PUBLISHED if len(table.rows) > 1
    )
    assert [table for table, times in rows.items() if times > 1] == []


def test_halves_are_drawn_by_source():
    sources = {table.source for table in PUBLISHED}
    drawn = collections.Counter(map(half, sources))
    tables = collections.Counter(half(table.source) for table in PUBLISHED)
    assert min(drawn.values()) >= 20
    assert min(tables.values()) >= 60
    assert half("https://github.com/NVIDIA/nccl/issues/1453") == "judge"  # the draw is fixed


def test_fields_are_in_the_order_of_the_file():
    """A line reads as the class does, so that a record written by hand shows what it lacks."""
    for line in TABLES.read_text().splitlines():
        assert list(json.loads(line)) == list(PUBLISHED[0]._fields)
