# SPDX-License-Identifier: Apache-2.0
"""What a table says by itself: wrong results, units that are mistaken, too few iterations, ways that differ."""

from dataclasses import replace

import pytest
from tests.topo.jobs.judge.made import curve_of, table_of

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.judge.judge import judge
from railgauge.topo.jobs.tables.table import Measurement
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.settings.algorithm import Collective


@pytest.fixture(scope="module")
def good():
    machine = load_machine("@dgx-a100")
    curve = curve_of(machine, 1, Collective.ALL_REDUCE, share=0.95)
    return machine, curve, table_of(curve, machine, 1, Collective.ALL_REDUCE)


def levels(judged):
    return {one.id: one.level for one in judged.findings}


def changed(table, **to):
    """Each row's way in place with other figures."""
    rows = (replace(row, in_place=replace(row.out_of_place, **to)) for row in table.rows)
    return replace(table, rows=tuple(rows))


def test_in_place_that_is_slower_is_found(good):
    machine, _, table = good
    rows = tuple(
        replace(row, in_place=Measurement(busbw_gb_per_s=row.out_of_place.busbw_gb_per_s / 2)) for row in table.rows
    )
    assert "in-place-differs" in levels(judge(replace(table, rows=rows), machine))
    assert "in-place-differs" not in levels(judge(changed(table), machine))


def test_wrong_results_fail(good):
    machine, _, table = good
    assert levels(judge(changed(table, wrong=3), machine))["wrong-results"] is Level.FAIL
    assert "wrong-results" not in levels(judge(changed(table, wrong=0), machine))


def test_units_that_are_mistaken(good):
    machine, curve, table = good
    gigabits = table_of({size: 8 * by for size, by in curve.items()}, machine, 1, Collective.ALL_REDUCE)
    assert "unit-mistaken" in levels(judge(gigabits, machine))
    same = tuple(
        replace(row, out_of_place=replace(row.out_of_place, algbw_gb_per_s=row.out_of_place.busbw_gb_per_s))
        for row in table.rows
    )
    mistaken = judge(replace(table, rows=same), machine)
    assert levels(mistaken) == {"unit-mistaken": Level.WARN, "number-low": Level.UNKNOWN}
    assert not mistaken.causes
    assert "unit-mistaken" not in levels(judge(table, machine))


@pytest.mark.parametrize(
    ("times", "of_time", "said"), [(8, 1, "in Gb/s"), (1000, 1, "in MB/s"), (1, 1e-3, "time is in ms")]
)
def test_a_column_in_another_unit_is_named_once(good, times, of_time, said):
    machine, _, table = good

    def mistaken(way):
        algbw, busbw = way.algbw_gb_per_s * times, way.busbw_gb_per_s * times
        return replace(way, time_us=way.time_us * of_time, algbw_gb_per_s=algbw, busbw_gb_per_s=busbw)

    rows = tuple(replace(row, out_of_place=mistaken(row.out_of_place)) for row in table.rows)
    (found,) = (one for one in judge(replace(table, rows=rows), machine).findings if one.id == "unit-mistaken")
    assert said in found.message


@pytest.mark.parametrize(("iterations", "warmup", "found"), [(1, 5, True), (20, 0, True), (20, 1, False)])
def test_too_few_iterations(good, iterations, warmup, found):
    machine, _, table = good
    judged = judge(replace(table, iterations=iterations, warmup=warmup), machine)
    assert ("too-few-iterations" in levels(judged)) is found
