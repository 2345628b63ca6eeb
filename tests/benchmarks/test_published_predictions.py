# SPDX-License-Identifier: Apache-2.0
"""Published tables beside predictions: the errors are those of the page, and machines are those of the tables."""

import pathlib
import re
import statistics

import pytest
from benchmarks.predict.published import half, read
from benchmarks.predict.published.__main__ import SMALL, compare, measured_rows, settings_of, summary
from benchmarks.predict.published.judged import judged
from benchmarks.predict.published.machines import listed_nics, machine_of, missing, nodes_of

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "how-it-works" / "predict.md").read_text()
COMPARED = [table for table in read() if not missing(table)]


@pytest.fixture(scope="module")
def results():
    return [result for table in COMPARED for result in compare(table)]


def test_the_errors_are_those_of_the_page(results):
    names = {"set": "set", "judge": "**judge**"}
    found = [
        re.match(r"(\w+), (.*): (\d+) rows of (\d+) tables, median error ([\d.]+%)", one) for one in summary(results)
    ]
    lines = [one.groups() for one in found if one]
    assert len(lines) == 4
    for name, where, rows, tables, median in lines:
        assert f"| {names[name]} | {where} | {rows} | {tables} | {median} |" in PAGE


def test_the_half_that_judges_is_within_the_aims(results):
    errors = [(abs(one["error"]), one["bytes"]) for one in results if one["half"] == "judge"]
    assert statistics.median(error for error, size in errors if size >= SMALL) <= 0.10
    assert statistics.median(error for error, size in errors if size < SMALL) <= 0.20


@pytest.mark.parametrize("table", COMPARED, ids=lambda table: table.title)
def test_a_machine_has_the_gpus_and_nics_of_its_table(table):
    system = machine_of(table).system
    assert len(system.gpus) * nodes_of(table.machine) == table.ranks
    if nodes_of(table.machine) > 1:
        assert system.nets
        assert table.machine.sku or len(system.nets) == listed_nics(table).per_node


def test_what_is_left_out_is_named_and_no_faulty_machine_judges():
    left = [table for table in read() if missing(table)]
    assert len(left) + len(COMPARED) == len(read())
    assert all(table.verdict != "faulty" for table in COMPARED)
    assert {half(table.source) for table in COMPARED} == {"set", "judge"}


def test_nvls_is_off_where_it_took_no_part():
    known = [table for table in COMPARED if table.nvls is False]
    assert known
    assert all(settings_of(table)["NCCL_NVLS_ENABLE"] == "0" for table in known)
    assert all(us > 0 for table in COMPARED for _, us in measured_rows(table))


def test_faulty_machines_of_the_half_that_judges_are_found():
    faulty = list(judged("judge", "faulty"))
    assert len(faulty) > 6
    assert sum(not one.found for one in faulty) <= 1
