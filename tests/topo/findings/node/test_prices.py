# SPDX-License-Identifier: Apache-2.0
"""Prices: a fault never gains, a repair never loses, and check says what graph predict says."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.command import in_process
from tests.topo.findings.node.cases import IB, PCI, case
from tests.topo.predict.planned import planned

from railgauge.topo.compare.what_if import edited
from railgauge.topo.findings.node.effect import Prices, compared, repaired
from railgauge.topo.findings.node.rules import check, chosen, repairs
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.comparison import sound
from railgauge.topo.predict.forecast import forecast, nccl_rows

DGX = "dgx-h100"
RAILS = {"mlx5_0": "0000:18:00.0", "mlx5_3": "0000:40:00.0", "mlx5_4": "0000:4f:00.0", "mlx5_11": "0000:dc:00.0"}
PRICE = re.compile(
    r"(?P<nodes>\d)-node all_reduce 1 GiB: (?P<old>[\d.]+) -> (?P<new>[\d.]+) GB/s busbw \(([+-]\d+) %\); bottleneck "
)
PRICED = ("pcie-link-degraded", "nvlink-missing", "ib-port-down", "ib-rate-low", "peermem-missing")
RULES = chosen(PRICED, (), 1)


def narrow(bus_id, lanes):
    return {f"{PCI}/{bus_id}/current_link_width": str(lanes)}


def port_down(name):
    port = f"{IB}/{name}/ports/1"
    return {f"{port}/state": "1: DOWN", f"{port}/phys_state": "2: Polling", f"{port}/rate": "10 Gb/sec (4X SDR)"}


def rate(name, gbps):
    return {f"{IB}/{name}/ports/1/rate": f"{gbps} Gb/sec (4X EDR)"}


@st.composite
def faults(draw):
    """A machine with one to three faults of its rails."""
    files = {}
    for name in draw(st.lists(st.sampled_from(sorted(RAILS)), min_size=1, max_size=3, unique=True)):
        kind = draw(st.sampled_from(("narrow", "down", "rate")))
        if kind == "narrow":
            files |= narrow(RAILS[name], draw(st.sampled_from((1, 2, 4, 8))))
        else:
            files |= port_down(name) if kind == "down" else rate(name, draw(st.sampled_from((100, 200))))
    return files


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(faults())
def test_a_fault_never_gains_and_a_repair_never_loses(files):
    machine = case(DGX, files=files)
    found = [one for one in check(machine, RULES) if one.level in ("WARN", "FAIL") and PRICE.search(one.effect)]
    assert found
    for one in found:
        price = PRICE.search(one.effect)
        old, new = float(price["old"]), float(price["new"])
        assert new <= old, one.effect


LOSSES = ("mlx5_0.width=8", "mlx5_3.width=1", "GPU2.width=4", "GPU5.speed=gen1", "mlx5_4.rate=100", "mlx5_5.gdr=0",
          "GPU0.nvlinks=9", "mlx5_9.max_width=4")  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(LOSSES), min_size=1, max_size=4, unique=True), st.sampled_from((1, 2)))
def test_edits_for_the_worse_never_gain_nor_do_they_lose_when_undone(sets, nodes):
    whole = load_machine(f"@{DGX}").topology
    rows = [
        forecast(planned(one, nodes), Collective.ALL_REDUCE, (1 << 12, 1 << 30), read_allowed({}), nccl_rows)
        for one in (whole, edited(whole, sets))
    ]
    worse, better = sound(*rows, tuple(sets)), sound(*rows[::-1], tuple(sets))
    assert all(b.time_us >= a.time_us for a, b in zip(worse.before.rows, worse.after.rows, strict=True))
    assert all(b.time_us <= a.time_us for a, b in zip(better.before.rows, better.after.rows, strict=True))


@pytest.mark.parametrize(
    ("files", "subject"),
    [
        (narrow(RAILS["mlx5_0"], 8), RAILS["mlx5_0"]),
        (narrow(RAILS["mlx5_4"], 4), RAILS["mlx5_4"]),
        (port_down("mlx5_3"), "mlx5_3:1"),
    ],
)
def test_the_price_of_a_fault_is_what_the_predictions_say(files, subject):
    machine = case(DGX, files=files)
    fixed = repaired(machine, repairs(machine))
    two, four = (compared(case(DGX), machine, nodes=nodes) for nodes in (2, 4))
    assert fixed.system == case(DGX).system
    price = f"{two.statement}; on 4 nodes {four.bandwidths}"
    assert Prices(machine).loss(subject) == price
    (found,) = (one for one in check(machine, RULES) if one.id in PRICED and one.level in ("WARN", "FAIL"))
    assert (found.subject, found.effect) == (subject, price)


def test_half_the_lanes_of_a_rail_cost_a_quarter_on_two_nodes_whose_trees_cross_the_network_once_and_half_on_four():
    machine = case(DGX, files=narrow(RAILS["mlx5_0"], 8))
    assert Prices(machine).loss(RAILS["mlx5_0"]) == (
        "2-node all_reduce 1 GiB: 434 -> 332 GB/s busbw (-23 %); bottleneck mlx5_0; "
        "on 4 nodes 351 -> 181 GB/s busbw (-49 %)"
    )


def test_each_of_two_faults_has_its_own_price():
    machine = case(DGX, files=narrow(RAILS["mlx5_0"], 8) | narrow(RAILS["mlx5_4"], 4))
    prices = Prices(machine)
    assert "434 -> 332 GB/s" in prices.loss(RAILS["mlx5_0"])
    assert "434 -> 167" in prices.loss(RAILS["mlx5_4"])


def test_a_speed_lowered_by_an_idle_gpu_has_no_price():
    gpu = "0000:1b:00.0"
    machine = case(DGX, files={f"{PCI}/{gpu}/current_link_speed": "2.5 GT/s PCIe"})
    assert machine.system.slow == ()
    assert Prices(machine).loss(gpu) == ""


def test_a_gpu_without_nvlinks_has_a_price():
    whole = load_machine(f"@{DGX}")
    machine = type(whole)(topology=edited(whole.topology, ["GPU0.nvlinks=0"]), facts=whole.facts)
    bus_id = next(gpu.bus_id for gpu in whole.system.gpus if gpu.dev == 0)
    price = PRICE.search(Prices(machine).loss(bus_id, nodes=1))
    assert float(price["new"]) < float(price["old"]) / 2


@pytest.mark.parametrize("name", ["consumer-2x5090", "h200nvl", "gb200-tray"])
def test_a_machine_without_rdma_has_prices(name):
    there = case(name, files={IB: None, "/sys/class/net": None})
    gpu = there.facts.gpus[1].bus_id
    narrowed = case(name, files={IB: None, "/sys/class/net": None} | narrow(gpu, 1))
    found = [one for one in check(narrowed) if one.id == "pcie-link-degraded"]
    assert {(one.level, one.error) for one in found if one.subject == gpu} == {("FAIL", "")}


def test_the_only_port_down_has_no_price_by_the_rate_of_a_port_that_is_down():
    (found,) = (one for one in check(case("gh200", files=port_down("mlx5_0"))) if one.id == "ib-port-down")
    assert (found.level, found.effect) == ("FAIL", "")


@pytest.mark.parametrize("bus_id", [None, "0000:12:00.0"])
def test_missing_peer_memory_has_its_price_also_beside_a_narrow_link(bus_id):
    machine = case("dgx-a100-no-peermem", files=narrow(bus_id, 1) if bus_id else {})
    (found,) = (one for one in check(machine, RULES) if one.id == "peermem-missing")
    price = PRICE.search(found.effect)
    assert float(price["new"]) < float(price["old"])


def test_a_machine_without_peer_memory_and_dma_buf_is_one_entry():
    shown = in_process("check", "--from", "@dgx-a100-no-peermem").stdout.splitlines()
    assert [line.split(":")[0] for line in shown if line.startswith("FAIL")] == ["FAIL peermem-missing"]
    assert any(line.startswith("    follows: FAIL dmabuf-unsupported") for line in shown)
