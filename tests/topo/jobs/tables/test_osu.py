# SPDX-License-Identifier: Apache-2.0
"""Tables of the OSU micro-benchmarks."""

from pathlib import Path

import pytest

from railgauge.topo.jobs.tables.table import Measurement, Program, TableRow
from railgauge.topo.jobs.tables.tables import read_tables
from railgauge.topo.nccl.settings.algorithm import Collective

TEXT = (Path(__file__).parent / "outputs" / "osu.txt").read_text()
BANDWIDTH, REDUCE, ALLREDUCE, PAIRS, LATENCY, BOTH = read_tables(TEXT)


def titled(title, columns, rows):
    (table,) = read_tables(f"# OSU {title}\n# Size{columns}\n{rows}\n")
    return table


def test_bandwidth():
    assert (BANDWIDTH.program, BANDWIDTH.release, BANDWIDTH.test) == (Program.OSU, "7.2", "osu_bw")
    assert (BANDWIDTH.collective, BANDWIDTH.directions, BANDWIDTH.gpu_memory) == (None, 1, True)
    assert [row.size for row in BANDWIDTH.rows] == [1, 1 << 20, 32 << 20]
    assert BANDWIDTH.rows[1] == TableRow(size=1 << 20, out_of_place=Measurement(algbw_gb_per_s=73.67519))
    assert not BANDWIDTH.complete


def test_collective_with_the_fastest_and_slowest_rank():
    assert (REDUCE.test, REDUCE.collective, REDUCE.iterations) == ("osu_reduce", Collective.REDUCE, 1000)
    assert REDUCE.rows[0].out_of_place == Measurement(time_us=53.34, min_us=24.8, max_us=158.96)
    assert (ALLREDUCE.collective, ALLREDUCE.release) == (Collective.ALL_REDUCE, "5.6.2")
    assert ALLREDUCE.rows == (TableRow(size=2048, out_of_place=Measurement(time_us=17.74)),)


def test_pairs():
    assert (PAIRS.test, PAIRS.ranks, PAIRS.gpu_memory) == ("osu_mbw_mr", 96, None)
    assert PAIRS.rows[1].out_of_place == Measurement(algbw_gb_per_s=51.84446)


def test_latency_of_an_old_release():
    assert (LATENCY.test, LATENCY.release, LATENCY.rows[0].size) == ("osu_latency", "4.4.1", 0)
    assert LATENCY.rows[0].out_of_place == Measurement(time_us=0.5)


def test_both_directions_and_a_row_that_is_cut():
    assert (BOTH.test, BOTH.directions, BOTH.gpu_memory, len(BOTH.rows)) == ("osu_bibw", 2, False, 1)
    assert BOTH.rows[0].out_of_place.algbw_gb_per_s == pytest.approx(1.38146)


@pytest.mark.parametrize(
    ("title", "test", "collective", "shares"),
    [
        ("MPI-CUDA Allgather Latency Test v7.3", "osu_allgather", Collective.ALL_GATHER, True),
        ("MPI-ROCM All-to-All Personalized Exchange Latency Test v5.9", "osu_alltoall", Collective.ALL_TO_ALL, True),
        ("MPI Broadcast Latency Test v5.6.2", "osu_bcast", Collective.BROADCAST, False),
        ("MPI-CUDA Reduce_scatter Latency Test v7.3", "osu_reduce_scatter", Collective.REDUCE_SCATTER, False),
        ("NCCL Allreduce Latency Test v7.4", "osu_allreduce", Collective.ALL_REDUCE, False),
    ],
)
def test_collectives(title, test, collective, shares):
    table = titled(title, "       Avg Latency(us)", "1024                   12.50")
    assert (table.test, table.collective, table.sizes_are_shares) == (test, collective, shares)


def test_further_columns():
    table = titled(
        "MPI Latency Test v7.2",
        "          Latency (us)     P50 Tail Lat(us)     P99 Tail Lat(us)        Validation",
        "8                       1.50                 1.40                 2.90              Pass",
    )
    assert table.rows[0].out_of_place == Measurement(time_us=1.5)


@pytest.mark.parametrize(
    "before", ["> ", "[1,0]<stdout>:", "0: ", "2026-11-21T08:00:00.123Z ", "\x1b[32m", "[pod/a/b] "]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\x1b[0m\n"])
def test_prefixes_colours_and_ends_of_lines(before, end):
    wrapped = "".join(f"{before}{line}{end}" for line in TEXT.splitlines())
    assert read_tables(wrapped) == read_tables(TEXT)


def test_messages_between_rows():
    noisy = TEXT.replace("\n1048576 ", "\n[node:rank_0][warning] Entries are evicted (current value: 8196)\n1048576 ")
    assert [table.rows for table in read_tables(noisy)] == [table.rows for table in read_tables(TEXT)]


@pytest.mark.parametrize("figure", ["1e999", "nan", "-1.00", "1" * 5000 + ".00", "inf"])
def test_hostile_figures_have_no_row(figure):
    (table,) = read_tables(f"# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1   {figure}\n2   1.00\n")
    assert [row.size for row in table.rows] == [2]


def test_hostile_sizes_have_no_row():
    rows = f"{10**30}   1.00\n-4   1.00\n8   1.00"
    assert [row.size for row in titled("MPI Latency Test v7.3", "          Latency (us)", rows).rows] == [8]
