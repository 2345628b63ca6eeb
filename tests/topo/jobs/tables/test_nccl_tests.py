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
        count=1073741824,
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


def test_rows_that_mpirun_tags_piece_by_piece():
    tag = "[1,0]<stdout>:"
    pieces = NEW.replace("-1  ", f"-1{tag}  ").replace("       0  ", f"       0{tag}  ")
    assert one("".join(f"{tag}{line}\n" for line in pieces.splitlines())).rows == one(NEW).rows


@pytest.mark.parametrize("before", ["[1,0]<stdout>:", "0: ", "node-01: ", "2026-11-21T08:00:00.123Z ", "\x1b[32m"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize("text", [OLD, NEW])
def test_prefixes_colours_and_ends_of_lines(text, before, end):
    wrapped = "".join(f"{before}{line}{end}" for line in text.splitlines())
    assert one(wrapped) == one(text)


def read(name):
    return one((OUTPUTS / name).read_text())


def test_first_release_counts_in_milliseconds():
    table = read("nccl-tests-1.0.txt")
    assert (table.release, table.ranks, table.average_busbw_gb_per_s, table.complete) == ("", 0, 0, True)
    assert table.rows[0] == TableRow(
        size=10_000_000,
        out_of_place=Measurement(time_us=64, algbw_gb_per_s=157.38, busbw_gb_per_s=0, wrong=0, largest_error=0),
        in_place=Measurement(time_us=5, algbw_gb_per_s=2083.77, busbw_gb_per_s=0, wrong=0, largest_error=0),
        count=10000000,
        dtype="char",
        redop="sum",
    )


def test_columns_of_the_iterations_and_a_timestamp():
    table = read("nccl-tests-2.19-per-iteration.txt")
    assert (table.release, table.library, table.collective) == ("2.19.6", "2.30.7", Collective.ALL_GATHER)
    assert (table.checked, table.warmup, table.average_busbw_gb_per_s) == (False, 1, 31.6216)
    assert table.rows[0] == TableRow(
        size=1048576,
        out_of_place=Measurement(time_us=21.41, algbw_gb_per_s=48.98, busbw_gb_per_s=24.49, min_us=20.1, max_us=25.31),
        in_place=Measurement(time_us=21.02, algbw_gb_per_s=49.89, busbw_gb_per_s=24.94, min_us=20.09, max_us=24.9),
        count=131072,
        dtype="float",
        redop="none",
        root=-1,
    )


def test_a_run_without_its_end():
    table = read("nccl-tests-2.20.txt")
    assert (table.release, table.library, table.ranks, table.nodes) == ("2.20.0", "2.31.2", 2, 2)
    assert (table.complete, table.average_busbw_gb_per_s, table.out_of_bounds) == (False, None, None)
    assert [row.size for row in table.rows] == [8192, 16384]


def test_alltoall_is_known_by_its_blank_column():
    table = read("nccl-tests-alltoall-2.9.txt")
    assert (table.test, table.collective, table.ranks) == ("", Collective.ALL_TO_ALL, 8)
    assert table.rows[0] == TableRow(
        size=1 << 31,
        out_of_place=Measurement(time_us=8510.4, algbw_gb_per_s=252.34, busbw_gb_per_s=220.79),
        in_place=Measurement(time_us=8405.3, algbw_gb_per_s=255.49, busbw_gb_per_s=223.56),
        count=67108864,
        dtype="float",
    )


@pytest.mark.parametrize(
    ("count", "busbw", "collective"),
    [
        (262144, "50.00", Collective.ALL_REDUCE),  # busbw is no more than algbw: a column is mistaken
        (32768, "50.00", Collective.REDUCE_SCATTER),
        (262144, "0.00", Collective.ALL_REDUCE),
        (1000, "50.00", None),
    ],
)
def test_the_count_tells_what_the_factor_does_not(count, busbw, collective):
    algbw = busbw if busbw == "0.00" else "50.00"
    ways = f"20.97 {algbw} {busbw} 0"
    heading = "# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1"
    devices = [
        f"#  Rank {rank} Group 0 Pid {rank + 10} on n device {rank} [0x1{rank}] NVIDIA H100" for rank in range(8)
    ]
    columns = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
    row = f"1048576 {count} float sum -1 {ways} {ways}"
    assert one("\n".join([heading, "# Using devices", *devices, columns, row, ""])).collective is collective


def test_alltoall_is_not_checked_in_place():
    rows = read("nccl-tests-alltoall-2.13.txt").rows
    assert [(row.out_of_place.wrong, row.in_place.wrong) for row in rows] == [(0, None)] * 3


def test_rows_that_messages_cut_into():
    table = read("nccl-tests-interrupted.txt")
    assert (table.test, table.library) == ("reduce_scatter_perf", "2.18.5")
    assert (table.complete, [row.size for row in table.rows]) == (False, [1 << 20, 2 << 20])
    assert table.rows[0].out_of_place == Measurement(time_us=112, algbw_gb_per_s=9.36, busbw_gb_per_s=4.68, wrong=0)
    assert table.rows[0].in_place == Measurement(time_us=110.5, algbw_gb_per_s=9.49, busbw_gb_per_s=4.74, wrong=0)


def test_rccl_before_and_after_it_names_itself():
    old, new = read("rccl-tests-2.13.txt"), read("rccl-tests-2.17.txt")
    assert (old.program, old.release, old.ranks) == (Program.RCCL_TESTS, "develop:83d38d9", 8)
    assert (old.collective, old.average_busbw_gb_per_s) == (Collective.ALL_REDUCE, 157.885)
    assert old.rows[0].in_place == Measurement(time_us=94.94, algbw_gb_per_s=88.36, busbw_gb_per_s=154.63, wrong=0)
    assert (new.program, new.library, new.test) == (Program.RCCL_TESTS, "2.28.3", "broadcast_perf")
    assert (new.collective, new.rows[0].root, new.rows[0].redop) == (Collective.BROADCAST, 0, "none")
    assert (new.iterations, new.warmup, new.average_busbw_gb_per_s) == (30, 20, 3.41227)


def test_an_asterisk_of_rccl_marks_an_error_beyond_its_threshold():
    assert one(NEW.replace("1e+06", "1e+06*")).rows[1].in_place.wrong == 1_000_000


def test_in_place_alone():
    lines = (
        (OUTPUTS / "rccl-tests-2.13.txt").read_text().replace("out-of-place                       ", "").splitlines()
    )
    cut = [line.partition("#wrong ")[0] + "#wrong" if "busbw" in line else line for line in lines]
    cut = [line.replace("    94.94   88.36  154.63      0", "") for line in cut]
    (row,) = one("\n".join(cut)).rows
    assert (row.out_of_place, row.in_place.busbw_gb_per_s) == (Measurement(), 161.14)


def test_processes_without_mpi_print_one_table_each():
    twice = OLD.replace("Rank  1 Pid 112424", "Rank  0 Pid 112425")
    assert (one(twice).ranks, one(twice).copies) == (1, 2)


@pytest.mark.parametrize(
    ("figure", "found"), [("1e+999", None), ("nan", None), ("inf", None), ("-nan", None), ("N/A", None), ("0", 0.0)]
)
def test_figures_that_no_clock_shows(figure, found):
    assert one(NEW.replace("4389.52", figure)).rows[0].out_of_place.time_us == found
    assert one(NEW.replace(": 475.782", ": 1e+999")).average_busbw_gb_per_s is None


@pytest.mark.parametrize("figure", ["-4389.52", "9" * 30, "0x10", "1e99999", "4389,52"])
def test_rows_with_impossible_figures_are_left_out(figure):
    assert [row.size for row in one(NEW.replace("4389.52", figure)).rows] == [9663676416]


def test_times_of_the_cpu():
    assert one(NEW.replace("    time   algbw", " cputime   algbw")).cpu_time
    assert not one(NEW).cpu_time


@pytest.mark.parametrize(("code", "release"), [("2804", "2.8.4"), ("20800", "2.8.0"), ("23007", "2.30.7"), ("7", "")])
def test_codes_of_releases(code, release):
    assert one(NEW.replace("library=22907", f"library={code}")).library == release


def test_command_above_its_table():
    table = one(f"$ mpirun -np 8 ./build/all_reduce_perf -b 8\n{OLD}")
    assert (table.test, table.line) == ("all_reduce_perf", 2)
    assert one("$ ./all_reduce_perf\n" + "a line  1\n" * 1000 + OLD).test == ""


@pytest.mark.parametrize(
    ("arguments", "symmetric", "zero_cta"),
    [
        ("-b 8 -R 2 -e 1G", True, False),
        ("-R2", True, False),
        ("--local_register=2", True, False),
        ("-R 2 -x 2", True, True),
        ("--cta_policy 2", False, True),
        ("-R 1 -x 1", False, False),
        ("-R 22 -x 20", False, False),
        ("", False, False),
    ],
)
def test_the_command_tells_symmetric_windows_and_copy_engines(arguments, symmetric, zero_cta):
    table = one(f"$ mpirun -np 8 -x 2 ./build/all_reduce_perf {arguments}\n{OLD}")
    assert (table.symmetric, table.zero_cta) == (symmetric, zero_cta)


def test_groups_beside_each_other():
    table = one(NEW.replace("Rank  1 Group  0", "Rank  0 Group  1"))
    assert (table.ranks, table.nodes, table.groups, table.copies) == (1, 1, 2, 1)


def test_streams_that_a_launcher_mixes():
    lines = zip(OLD.splitlines(), OLD.replace("133.92", "99.90").splitlines(), strict=True)
    first, second = read_tables("\n".join(f"{rank}: {line}" for pair in lines for rank, line in enumerate(pair)))
    assert (first.rows, first.copies) == (one(OLD).rows, 1)
    assert second.rows[1].out_of_place.busbw_gb_per_s == 99.9


def test_a_heading_without_errors():
    text = NEW.replace("  #wrong", "").replace("       0", "").replace("   1e+06", "")
    assert one(text).rows[0].in_place == Measurement(time_us=4331.11, algbw_gb_per_s=247.92, busbw_gb_per_s=464.84)


def test_a_table_whose_first_ranks_are_cut_off():
    begin = NEW.index("#  Rank  0")
    table = one(NEW.replace(NEW[begin : NEW.index("\n", begin) + 1], ""))
    assert (table.ranks, table.nodes) == (2, 0)
