# SPDX-License-Identifier: Apache-2.0
"""Tables of nccl-tests and rccl-tests as their releases print them, and as they arrive in logs."""

from pathlib import Path

import pytest

from railgauge.topo.jobs.tables.table import Measurement, Program, RankDevice, TableRow
from railgauge.topo.jobs.tables.tables import read_tables
from railgauge.topo.nccl.settings.algorithm import Collective

OUTPUTS = Path(__file__).parent / "outputs"
OLD = (OUTPUTS / "nccl-tests-2.0.txt").read_text()
NEW = (OUTPUTS / "nccl-tests-2.17.6.txt").read_text()


def one(text):
    (table,) = read_tables(text)
    return table


def test_old_release():
    table = one(OLD)
    assert (table.program, table.release, table.test, table.line) == (Program.NCCL_TESTS, "", "", 1)
    assert (table.ranks, table.nodes, table.per_thread, table.iterations, table.warmup) == (2, 1, 2, 20, 5)
    assert (table.checked, table.complete, table.out_of_bounds, table.average_busbw_gb_per_s) == (
        True,
        True,
        0,
        68.4048,
    )
    assert table.devices[1] == RankDevice(rank=1, host="localhost", device=1, bus_id="0x1b", gpu="A100-SXM4-40GB")
    assert [row.size for row in table.rows] == [4, 4294967296]
    assert table.rows[1] == TableRow(
        size=4294967296,
        out_of_place=Measurement(time_us=32070, algbw_gb_per_s=133.92, busbw_gb_per_s=133.92, largest_error=1e-7),
        in_place=Measurement(time_us=32052, algbw_gb_per_s=134, busbw_gb_per_s=134, wrong=0, largest_error=0),
        dtype="float",
        redop="sum",
    )


def test_new_release():
    table = one(NEW)
    assert (table.release, table.library, table.test) == ("2.17.6", "2.29.7", "all_reduce_perf")
    assert table.collective is Collective.ALL_REDUCE
    assert (table.ranks, table.nodes, table.per_thread, table.iterations, table.warmup) == (2, 2, 1, 50, 1)
    assert (table.out_of_bounds, table.complete, table.groups) == (1, True, 1)
    assert table.rows[1].in_place == Measurement(
        time_us=37218, algbw_gb_per_s=259.65, busbw_gb_per_s=486.84, wrong=1_000_000
    )
    assert table.rows[1].root == -1


@pytest.mark.parametrize("before", ["[1,0]<stdout>:", "0: ", "node-01: ", "2026-11-21T08:00:00.123Z ", "\x1b[32m"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize("text", [OLD, NEW])
def test_prefixes_colours_and_ends_of_lines(text, before, end):
    wrapped = "".join(f"{before}{line}{end}" for line in text.splitlines())
    assert one(wrapped) == one(text)
