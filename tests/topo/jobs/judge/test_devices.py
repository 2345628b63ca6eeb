# SPDX-License-Identifier: Apache-2.0
"""Copies between devices and RDMA over a NIC are judged by what their paths carry on the machine."""

from dataclasses import replace

import pytest

from railgauge.topo.compare.what_if import edited
from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.judge.judge import judge
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.machine import load_machine

H100 = load_machine("@hgx-h100-8nic")
GPUS = [f"GPU{number}" for number in range(8)]


def made(program, test, rows, **fields):
    known = {"release": "", "library": "", "collective": None, "ranks": 0, "nodes": 0} | fields
    return MeasuredTable(program=program, test=test, rows=tuple(rows), **known)


def matrix(test, figures, **fields):
    """nvbandwidth's, by (source, target) in GB/s."""
    rows = [
        TableRow(size=0, out_of_place=Measurement(algbw_gb_per_s=by), source=a, target=b)
        for (a, b), by in figures.items()
    ]
    return made(Program.NVBANDWIDTH, test, rows, **fields)


def between_gpus(by, **odd):
    return {(a, b): odd.get(a + b, by) for a in GPUS for b in GPUS if a != b}


def finding(table, machine):
    (found,) = judge(table, machine, "name it").findings
    return found.level, found.message


NVLINKS = H100.paths.get(*(gpu.id for gpu in H100.system.gpus[:2])).real_gb_per_s


@pytest.mark.parametrize(("share", "level"), [(1.0, Level.PASS), (0.6, Level.WARN), (0.3, Level.FAIL)])
def test_copies_between_gpus_are_judged_by_their_nvlinks(share, level):
    figures = between_gpus(NVLINKS, GPU3GPU5=share * NVLINKS)
    found, message = finding(matrix("device_to_device_memcpy_write_ce", figures), H100)
    assert found is level
    if level is not Level.PASS:
        assert message.startswith(f"GPU3 -> GPU5: {share * NVLINKS:.4g} GB/s, {share:.0%} of the {NVLINKS:.4g}")


def test_a_total_of_both_directions_is_twice_the_path():
    figures = between_gpus(1.2 * NVLINKS)
    table = matrix("device_to_device_bidirectional_memcpy_read_ce", figures)
    assert finding(table, H100)[0] is Level.PASS
    assert finding(replace(table, directions=2), H100)[0] is Level.WARN


def test_a_copy_from_the_host_is_judged_by_the_gpus_pcie_link():
    slow = replace(H100, topology=edited(H100.topology, ["GPU2.width=4"]))
    now = min(link.real_gb_per_s for link in slow.system.links if slow.system.gpus[2].id in (link.source, link.target))
    figures = {("CPU0", gpu): 50.0 if gpu != "GPU2" else now for gpu in GPUS}
    table = matrix("host_to_device_memcpy_ce", figures)
    assert finding(table, slow)[0] is Level.PASS
    level, message = finding(matrix("host_to_device_memcpy_ce", figures | {("CPU0", "GPU2"): 10.0}), H100)
    assert (level, message.startswith("CPU0 -> GPU2: 10 GB/s")) == (Level.FAIL, True)


def test_without_a_machine_one_that_is_slower_than_the_others_is_found():
    table = matrix("device_to_device_memcpy_read_ce", between_gpus(300.0, GPU1GPU0=100.0))
    assert finding(table, None)[0] is Level.FAIL
    level, message = finding(matrix("device_to_device_memcpy_read_ce", between_gpus(300.0)), None)
    assert (level, "name it" in message) == (Level.UNKNOWN, True)


def perftest(test, figures, **fields):
    rows = [TableRow(size=size, out_of_place=Measurement(**figure)) for size, figure in figures.items()]
    return made(Program.PERFTEST, test, rows, nic="mlx5_0", **fields)


@pytest.mark.parametrize(("gb_per_s", "level"), [(48.5, Level.PASS), (30.0, Level.WARN), (12.0, Level.FAIL)])
def test_rdma_is_judged_by_its_port(gb_per_s, level):
    table = perftest("ib_write_bw", {2: {"algbw_gb_per_s": 0.01}, 1 << 23: {"algbw_gb_per_s": gb_per_s}})
    found, message = finding(table, H100)
    assert (found, message.endswith("of the 48 of mlx5_0")) == (level, True), message
    assert finding(replace(table, directions=2), H100)[0] is (Level.WARN if gb_per_s > 48 else Level.FAIL)


def test_rdma_without_long_messages_or_on_another_machine_is_unknown():
    short = perftest("ib_write_bw", {2: {"algbw_gb_per_s": 0.01}})
    assert finding(short, H100) == (Level.UNKNOWN, "no forecast to compare with: no message of 64 KiB or more")
    other = replace(perftest("ib_write_bw", {1 << 23: {"algbw_gb_per_s": 1.0}}), nic="mlx5_99")
    assert "mlx5_99 is not on the machine" in finding(other, H100)[1]


@pytest.mark.parametrize(
    ("test", "us", "level"),
    [("ib_write_lat", 1.2, Level.PASS), ("ib_write_lat", 9.0, Level.WARN), ("ib_read_lat", 6.0, Level.PASS)],
)
def test_the_latency_of_rdma_needs_no_machine(test, us, level):
    found, message = finding(perftest(test, {8192: {"time_us": 4 * us}, 2: {"time_us": us}}), None)
    assert (found, message.startswith(f"{us:g} us at 2 B")) == (level, True)
