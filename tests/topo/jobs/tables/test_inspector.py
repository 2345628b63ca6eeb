# SPDX-License-Identifier: Apache-2.0
"""Records of NCCL's Inspector."""

import json
from pathlib import Path

import pytest

from railgauge.topo.jobs.tables.table import Measurement, Program
from railgauge.topo.jobs.tables.tables import read_tables
from railgauge.topo.nccl.settings.algorithm import Collective

RECORDS = (Path(__file__).parent / "outputs" / "inspector.jsonl").read_text()
FIRST = RECORDS.splitlines()[0]


def test_a_table_a_rank_and_kind():
    reduced, scattered, sent = read_tables(RECORDS)
    assert (reduced.program, reduced.release, reduced.test) == (Program.INSPECTOR, "4.0", "AllReduce")
    assert (reduced.collective, reduced.ranks, reduced.nodes) == (Collective.ALL_REDUCE, 8, 1)
    assert (reduced.detail, reduced.complete) == ("rank 2 of 0x7f8c496ae9f661", False)
    assert [row.size for row in reduced.rows] == [1 << 34, 1 << 34]
    assert reduced.rows[0].out_of_place == Measurement(
        time_us=61974, algbw_gb_per_s=277.210914, busbw_gb_per_s=485.119099
    )
    assert (scattered.collective, scattered.sizes_are_shares) == (Collective.REDUCE_SCATTER, True)
    assert (scattered.ranks, scattered.nodes, scattered.line) == (32, 4, 2)
    assert (sent.test, sent.collective, sent.release, sent.sizes_are_shares) == ("Send", None, "5.1", False)
    assert sent.rows[0].out_of_place == Measurement(time_us=1154, algbw_gb_per_s=464.9, busbw_gb_per_s=464.9)


def test_ranks_that_write_into_the_same_file():
    other = FIRST.replace('"rank":2', '"rank":3')
    tables = read_tables("\n".join([FIRST, other, FIRST, other, other]))
    assert [len(table.rows) for table in tables] == [2, 3]
    assert [table.detail for table in tables] == ["rank 2 of 0x7f8c496ae9f661", "rank 3 of 0x7f8c496ae9f661"]


def test_a_record_over_several_lines():
    (table,) = read_tables(json.dumps(json.loads(FIRST), indent=2))
    assert len(table.rows) == 1


def test_a_record_without_header():
    record = json.loads(FIRST)
    record |= record.pop("header")
    (table,) = read_tables(json.dumps(record))
    assert (table.ranks, table.detail) == (8, "rank 2 of 0x7f8c496ae9f661")


@pytest.mark.parametrize("figure", ["1e999", "-1", "NaN", "null", '"8"', "[]", str(10**30)])
@pytest.mark.parametrize("name", ["coll_exec_time_us", "coll_msg_size_bytes"])
def test_hostile_records_have_no_row(name, figure):
    record = json.loads(FIRST)
    assert not read_tables(FIRST.replace(f'"{name}":{record["coll_perf"][name]}', f'"{name}":{figure}'))


def test_a_record_that_is_cut_is_left_out():
    assert [len(table.rows) for table in read_tables(RECORDS[:-40])] == [1, 1, 1]
