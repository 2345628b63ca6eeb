# SPDX-License-Identifier: Apache-2.0
"""Matrices of nvbandwidth, as text and as JSON."""

from pathlib import Path

import pytest

from railgauge.topo.jobs.tables.table import Measurement, Program, RankDevice, TableRow
from railgauge.topo.jobs.tables.tables import read_tables

OUTPUTS = Path(__file__).parent / "outputs"
OLD = (OUTPUTS / "nvbandwidth-0.2.txt").read_text()
NEW = (OUTPUTS / "nvbandwidth-0.8.txt").read_text()
DOCUMENT = (OUTPUTS / "nvbandwidth.json").read_text()


def pair(source, target, gb_per_s):
    return TableRow(size=0, out_of_place=Measurement(algbw_gb_per_s=gb_per_s), source=source, target=target)


def test_bandwidth_and_latency_of_an_old_release():
    bandwidth, latency = read_tables(OLD)
    assert (bandwidth.program, bandwidth.release, bandwidth.line) == (Program.NVBANDWIDTH, "0.2", 15)
    assert (bandwidth.test, bandwidth.collective) == ("host_to_device_memcpy_ce", None)
    assert bandwidth.devices[1] == RankDevice(rank=1, host="", device=1, bus_id="", gpu="NVIDIA GeForce RTX 4090")
    assert (bandwidth.ranks, bandwidth.nodes, bandwidth.gpu_memory) == (2, 1, False)
    assert bandwidth.rows == (pair("CPU0", "GPU0", 25.5), pair("CPU0", "GPU1", 24.26))
    assert (bandwidth.sum_gb_per_s, bandwidth.complete) == (49.76, True)
    assert (latency.test, latency.sum_gb_per_s, latency.complete) == ("host_device_latency_sm", None, True)
    assert latency.rows[1].out_of_place == Measurement(time_us=0.78012)


def test_every_matrix_of_a_test_and_one_that_is_cut():
    one_way, read1, total = read_tables(NEW)
    assert one_way.devices[1].bus_id == "00000000:25:00"
    assert one_way.rows == (pair("GPU0", "GPU1", 26.34), pair("GPU1", "GPU0", 26.3))
    assert (one_way.gpu_memory, one_way.directions, one_way.sum_gb_per_s) == (True, 1, 52.64)
    assert (read1.directions, read1.sum_gb_per_s) == (1, 48.3)
    assert read1.detail == "memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)"
    assert (total.directions, total.complete, total.sum_gb_per_s) == (2, False, None)
    assert total.test == read1.test == "device_to_device_bidirectional_memcpy_read_ce"
    assert total.rows == (pair("GPU0", "GPU1", 48.2),)


def test_an_arrow_to_the_left_turns_a_pair_round():
    (table,) = read_tables(OLD[: OLD.index("Waiving")].replace("->", "<-"))
    assert table.rows[1] == pair("GPU1", "CPU0", 24.26)


def test_processes_of_several_nodes():
    devices = "".join(
        f"Process {rank} (worker-{rank // 2}): device {rank % 2}: HGX GB200 (00000008:01:00)\n" for rank in range(4)
    )
    begin, end = NEW.index("node-a"), NEW.index("Running")
    table, *_ = read_tables(NEW[:begin] + devices + NEW[end:])
    assert (table.ranks, table.nodes) == (4, 2)
    assert table.devices[3] == RankDevice(rank=3, host="worker-1", device=1, bus_id="00000008:01:00", gpu="HGX GB200")


def test_devices_are_those_of_the_run():
    tables = read_tables(OLD + OLD)
    assert [len(table.devices) for table in tables] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    "before", ["[1,0]<stdout>:", "0: ", "node-01: ", "2026-11-21T08:00:00.123Z ", "\x1b[32m", "      "]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", " \x1b[0m\n"])
@pytest.mark.parametrize("text", [OLD, NEW])
def test_prefixes_colours_and_ends_of_lines(text, before, end):
    wrapped = "".join(f"{before}{line}{end}" for line in text.splitlines())
    found = [(table.test, table.rows, table.sum_gb_per_s) for table in read_tables(wrapped)]
    assert found == [(table.test, table.rows, table.sum_gb_per_s) for table in read_tables(text)]


def test_blanks_that_a_page_squeezed():
    squeezed = "\n".join(" ".join(line.split()) for line in NEW.splitlines())
    assert [table.rows for table in read_tables(squeezed)] == [table.rows for table in read_tables(NEW)]


def test_messages_between_the_heading_and_its_columns():
    noisy = NEW.replace("(GB/s)\n", "(GB/s)\nnode-a:7:7 [0] NCCL INFO comm 0x1 rank 3\nwarmed up, iteration 7\n")
    assert [table.rows for table in read_tables(noisy)] == [table.rows for table in read_tables(NEW)]


def test_json():
    bandwidth, latency = read_tables(DOCUMENT)
    assert (bandwidth.program, bandwidth.release) == (Program.NVBANDWIDTH, "0.7")
    assert bandwidth.devices == (
        RankDevice(rank=0, host="node-a", device=0, bus_id="00000000:0f:00", gpu="NVIDIA H100 80GB HBM3"),
    )
    assert (bandwidth.test, bandwidth.complete, bandwidth.sum_gb_per_s) == (
        "host_to_device_memcpy_ce",
        True,
        12.396361291250001,
    )
    assert bandwidth.rows == (pair("CPU0", "GPU0", 12.3964),)
    assert (latency.sum_gb_per_s, latency.rows[0].out_of_place) == (None, Measurement(time_us=0.77425))


@pytest.mark.parametrize("figure", ["1e999", "-1", "nan", "", "x", "12.3964 GB"])
def test_hostile_json_has_no_row(figure):
    tables = read_tables(DOCUMENT.replace('"12.3964"', f'"{figure}"'))
    assert [table.test for table in tables] == ["host_device_latency_sm"]


def test_a_matrix_alone_is_named_by_its_sum():
    (table,) = read_tables(NEW[NEW.index("memcpy CE GPU") : NEW.index("Running device_to_device_bi")])
    assert (table.test, table.release, table.ranks) == ("device_to_device_memcpy_read_ce", "", 0)


@pytest.mark.parametrize(
    ("before", "ends", "test"),
    [
        ("> Running host_to_device_memcpy_sm.\n", "CPU(row) -> GPU(column)", "host_to_device_memcpy_sm"),
        ("", "GPU(row) <- GPU(column)", "device_to_device_memcpy"),
        ("", "CPU(row) <- GPU(column)", ""),
    ],
)
def test_a_matrix_in_a_quotation_or_without_its_test(before, ends, test):
    (table,) = read_tables(f"{before}memcpy SM {ends} bandwidth (GB/s)\n0         1\n0     35.19     35.25\n")
    assert (table.test, len(table.rows)) == (test, 2)


def test_hostile_columns():
    assert read_tables(OLD.replace("          0         1", "          1         0")) == []
    assert read_tables(OLD.replace("25.50", "1" * 5000).replace("772.58", "-1.00")) == []
