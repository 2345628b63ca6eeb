# SPDX-License-Identifier: Apache-2.0
"""The price of each finding is what `graph predict` says of the machine with and without the fault."""

import functools
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.command import in_process
from tests.topo.findings.node.cases import IB, PCI, SEVERAL, case
from tests.topo.findings.node.planted import FAULTS, link, links_between, links_down, port
from tests.topo.predict.planned import planned
from tests.topo.small_machines import topologies

from railgauge.topo.compare.what_if import edited
from railgauge.topo.errors import Error
from railgauge.topo.findings.node.effect import Prices, compared, once_fixed
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rules import check
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.comparison import sound
from railgauge.topo.predict.forecast import forecast, nccl_rows

PRICE = re.compile(
    r"(?P<nodes>\d)-node all_reduce 1 GiB: (?P<old>[\d.]+) -> (?P<new>[\d.]+) GB/s busbw \((?P<change>[^)]+)\); "
    r"bottleneck (?P<device>\S+)"
)
NO_LOSS = re.compile(r"under 1 % of a \d-node all_reduce 1 GiB \([\d.]+ GB/s busbw; bottleneck \S+\): ")
ALONE = {
    fault: (name, changes, expected)
    for fault, (name, changes, expected) in FAULTS.items()
    if len(expected) == 1 and not any("setting" in one or "conf-file" in one for one, _, _ in expected)
}
"""Machines with one fault alone."""
MODELS = ("dgx-a100", "hgx-h100-8nic", "pcie-switch", "dgx-1v", "dgx-2", "h200nvl", "gb200-tray", "a100-4gpu")
SIGNED = re.compile(r"\(([+-]\d+) %\)")


def alarming(machine):
    return [one for one in check(machine) if one.level in ("WARN", "FAIL")]


@functools.cache
def alarms_of(fault):
    """The machine of ALONE with one fault, and its findings."""
    name, changes, _ = ALONE[fault]
    machine = case(name, **changes)
    return machine, alarming(machine)


@pytest.mark.parametrize("fault", ALONE)
def test_each_price_is_the_prediction_beside_the_machine_without_the_fault(fault):
    machine, alarms = alarms_of(fault)
    name = ALONE[fault][0]
    for one in alarms:
        if not (price := PRICE.search(one.effect)):
            assert "%" not in one.effect or NO_LOSS.match(one.effect), one.effect
            continue
        there = compared(case(name), machine, nodes=int(price["nodes"]))
        stated = sound(there.before, there.after, ())
        assert SEVERAL.sub("", one.effect) == stated.statement
        more = compared(case(name), machine, nodes=4)
        larger = sound(more.before, more.after, ())
        is_apart = price["nodes"] == "2" and not larger.is_small and abs(larger.change - stated.change) >= 0.05
        assert one.effect == stated.statement + (f"; on 4 nodes {larger.bandwidths}" if is_apart else "")
        assert float(price["new"]) < float(price["old"])
        assert SIGNED.search(one.effect)


def test_many_faults_have_a_price():
    """The test above has something to compare."""
    priced = [fault for fault in ALONE if any(PRICE.search(one.effect) for one in alarms_of(fault)[1])]
    assert len(priced) >= 14, priced


@pytest.mark.parametrize(
    ("machine", "whole", "edits"),
    [
        ("dgx-h100-nic-x8", "dgx-h100", ["--set", "NIC0.width=8"]),
        ("dgx-h100-port-down", "dgx-h100", ["--drop", "mlx5_3"]),
        ("dgx-h100-nvlink-down", "dgx-h100", ["--drop", "nvlink:GPU2"]),
        ("dgx-a100-no-peermem", "dgx-a100", [f"--set=mlx5_{n}.gdr=0" for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)]),
    ],
)
def test_a_price_is_the_first_line_of_graph_predict(machine, whole, edits):
    (effect,) = {one.effect for one in alarming(load_machine(f"@{machine}")) if PRICE.search(one.effect)}
    nics = {net.name for net in load_machine(f"@{whole}").system.nets}
    edits = [one for one in edits if "gdr" not in one or one[6:].partition(".")[0] in nics]
    sizes = ("--policy", "nccl", "--nodes", PRICE.search(effect)["nodes"], "-b", "1G")
    said = in_process("graph", "predict", "all_reduce", "--from", f"@{whole}", *edits, *sizes).stdout
    assert said.splitlines()[0] == SEVERAL.sub("", effect)
    fixed = in_process("graph", "predict", "all_reduce", "--from", f"@{machine}", "--fixed", *sizes).stdout
    price, undone = PRICE.search(effect), PRICE.search(fixed)
    assert (undone["new"], undone["old"]) == (price["old"], price["new"])


@pytest.mark.parametrize(
    ("machine", "least"), [("dgx-h100-nic-x8", 45), ("dgx-h100-port-down", 10), ("dgx-h100-gpu-lost", 10)]
)
def test_what_a_larger_job_loses_is_stated_as_graph_predict_has_it(machine, least):
    (effect,) = {one.effect for one in alarming(load_machine(f"@{machine}"))}
    several = SEVERAL.search(effect)
    assert int(several["change"]) <= -least
    options = ("--fixed", "--policy", "nccl", "--nodes", "4", "-b", "1G")
    undone = PRICE.search(in_process("graph", "predict", "all_reduce", "--from", f"@{machine}", *options).stdout)
    assert (undone["new"], undone["old"]) == (several["old"], several["new"])


@pytest.mark.parametrize(
    ("name", "changes", "drops"),
    [
        ("a100-4gpu", {"nvml.gpus.2.links": []}, ["GPU2-GPU0", "GPU2-GPU1", "GPU2-GPU3"]),
        ("a100-4gpu", links_down(2, *range(12)), ["GPU2-GPU0", "GPU2-GPU1", "GPU2-GPU3"]),
        ("dgx-1v", links_down(3, *range(6)), ["GPU3-GPU0", "GPU3-GPU1", "GPU3-GPU2", "GPU3-GPU7"]),
    ],
)
def test_a_gpu_of_a_mesh_without_nvlinks_costs_what_graph_predict_says(name, changes, drops):
    (found,) = alarming(case(name, facts=changes))
    assert found.level == "FAIL"
    price = PRICE.search(found.effect)
    assert float(price["new"]) < float(price["old"]) / 10
    options = [*(f"--drop=nvlink:{pair}" for pair in drops), "--policy", "nccl", "-b", "1G"]
    said = PRICE.search(in_process("graph", "predict", "all_reduce", "--from", f"@{name}", *options).stdout)
    assert (said["old"], said["new"]) == (price["old"], price["new"])


def test_a_fault_whose_repair_is_unknown_has_no_figure():
    both = links_down(0, *links_between("a100-4gpu", 0, 1)) | links_down(2, *links_between("a100-4gpu", 2, 3))
    found = [one for one in alarming(case("a100-4gpu", facts=both)) if one.id == "nvlink-missing"]
    assert found
    assert not [one.effect for one in found if "under 1 %" in one.effect]


def test_a_fault_that_a_larger_job_feels_alike_is_priced_once():
    (effect,) = {one.effect for one in alarming(load_machine("@dgx-h100-nvlink-down"))}
    assert "4 nodes" not in effect


@pytest.mark.parametrize("name", MODELS)
def test_a_fault_of_any_device_of_any_model_is_never_a_gain(name):
    whole = case(name)
    gpus, nics = whole.facts.gpus, [one for one in whole.facts.rdma if not one.virtual and one.bus_id]
    faults = [{"files": link(one.bus_id, lanes)} for one in (gpus[0], *nics[:1]) for lanes in (1, 8)]
    faults += [{"files": {f"{IB}/{one.name}/ports/1/state": "1: DOWN"}} for one in nics[-1:]]
    faults += [{"files": {f"{IB}/{one.name}/ports/1/rate": "25 Gb/sec (1X EDR)"}} for one in nics[:1]]
    faults += [{"facts": links_down(1, *range(len(gpus[1].links) // 2))}] if len(gpus) > 1 else []
    for number, changes in enumerate(faults):
        machine = case(name, **changes)
        for one in alarming(machine):
            assert "+0 %" not in one.effect
            assert "-0 %" not in one.effect
            if price := PRICE.search(one.effect):
                assert float(price["new"]) < float(price["old"]), (name, changes, one.effect)
            stated = Prices(machine).loss(one.subject, nodes=1 + number % 2)
            assert not SIGNED.search(stated) or SIGNED.search(stated)[1].startswith("-"), (name, changes, stated)


def edits_of(system, draw):
    """Some edits for the worse of any machine; most of them fit."""
    nets = [f"{one.name or f'NIC{one.dev}'}.{how}" for one in system.nets for how in ("rate=1", "gdr=0", "width=1")]
    links = [f"{names_of(one)[0]}.{how}" for one in system.gpus for how in ("width=1", "max_width=2", "speed=gen1")]
    return draw(st.lists(st.sampled_from([*nets, *links]), min_size=1, max_size=3, unique=True))


def predicted(topology, nodes):
    """A prediction of the two ends of the scale; None for one GPU alone, and where NCCL finds no channels."""
    try:
        return forecast(
            planned(topology, nodes), Collective.ALL_REDUCE, (1 << 12, 1 << 30), read_allowed({}), nccl_rows
        )
    except Error:
        return None


def assert_signs(topology, nodes, draw):
    """Edits for the worse are no gain, and none is lost when they are undone."""
    sets = edits_of(build_system(topology), draw)
    whole, worse = predicted(topology, nodes), predicted(edited(topology, sets), nodes)
    if whole and worse:
        loss, gain = sound(whole, worse, tuple(sets)), sound(worse, whole, tuple(sets))
        assert loss.change <= 0 <= gain.change
        assert all(text not in loss.statement + gain.statement for text in ("+0 %", "-0 %"))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(MODELS), st.sampled_from((1, 2)))
def test_edits_for_the_worse_never_gain_on_any_model(data, name, nodes):
    assert_signs(load_machine(f"@{name}").topology, nodes, data.draw)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), topologies(), st.sampled_from((1, 2)))
def test_edits_for_the_worse_never_gain_on_random_machines(data, topology, nodes):
    system = build_system(topology)
    if system.nets or system.gpus:
        assert_signs(topology, nodes, data.draw)


@pytest.mark.parametrize("name", MODELS)
def test_a_wish_never_loses_and_names_a_gain(name):
    machine = load_machine(f"@{name}")
    slow = edited(machine.topology, [f"{net.name}.gdr=0" for net in machine.system.nets if net.name])
    bare = type(machine)(topology=slow, facts=machine.facts)
    wishes = [
        once_fixed(bare, [f"{net.name}.gdr=1" for net in nets]) for nets in (bare.system.nets[:1], bare.system.nets)
    ]
    assert all(not wish or "(+" in wish for wish in wishes), wishes
    assert all("(+0 %)" not in wish for wish in wishes), wishes


def test_a_link_that_no_channel_needs_says_so_in_words():
    storage = "0000:29:00.0"
    machine = case("dgx-h100", files=link(storage, 8) | link("0000:29:00.1", 8))
    (found,) = alarming(machine)
    assert found.subject == storage
    assert found.effect == (
        "under 1 % of a 2-node all_reduce 1 GiB (434 GB/s busbw; bottleneck GPU0): other links limit it"
    )


@pytest.mark.parametrize(
    ("name", "rates", "effect"),
    [
        ("gh200", {0: "100 Gb/sec (1X NDR)"}, "2-node all_reduce 1 GiB: 46.5 -> 11.6 GB/s busbw (-75 %)"),
        ("gh200", {0: "10 Gb/sec (4X SDR)"}, "no price: the full rate of this port is unknown"),
        ("dgx-h100", {0: "100 Gb/sec (1X NDR)"}, "2-node all_reduce 1 GiB: 434 -> 430 GB/s busbw (-1 %)"),
    ],
)
def test_a_slow_port_is_priced_by_its_kind_or_its_own_lanes_or_says_why_not(name, rates, effect):
    files = {path: text for number, rate in rates.items() for path, text in port(number, rate=rate).items()}
    (found,) = alarming(case(name, files=files))
    assert found.id == "ib-rate-low"
    assert found.effect.startswith(effect)


def test_a_repair_without_edits_has_no_price():
    machine = case("dgx-h100", files={f"{PCI}/0000:1b:00.0/current_link_speed": "2.5 GT/s PCIe"})
    assert Repair(subject="0000:1b:00.0").edits == ()
    assert Prices(machine).loss("0000:1b:00.0") == ""
