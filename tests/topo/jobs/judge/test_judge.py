# SPDX-License-Identifier: Apache-2.0
"""Tables judged beside the forecast of their machine: what is low is found, and the cause that made it so is named."""

from dataclasses import replace
from functools import cache

import pytest
from tests.topo.jobs.judge.made import SIZES, curve_of, table_of

from railgauge.topo.compare.what_if import edited
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.judge import judge as judging
from railgauge.topo.jobs.judge.forecasts import Forecasts
from railgauge.topo.jobs.judge.measured_run import MeasuredRun
from railgauge.topo.jobs.tables.table import RankDevice
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.crossed import crossed

C = Collective.ALL_REDUCE
MACHINES = ("dgx-h100", "dgx-a100", "dgx-1v", "pcie-switch", "h200nvl")
NAMES = (*MACHINES, "pcie-no-switch", "h200x4", "vm-flat")


@cache
def beside(name):
    """The forecasts of a fixture, for all tests: those under each possible cause take a second."""
    return Forecasts(load_machine(f"@{name}"))


def named(name):
    return beside(name).machine


def judge(table, machine, *why, **options):
    forecasts = next((one for one in map(beside, NAMES) if one.machine is machine), None)
    return judging.judge(table, machine, *why, forecasts=forecasts, **options)


def levels(judged):
    return {one.id: one.level for one in judged.findings}


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("collective", [Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.ALL_TO_ALL])
def test_a_machine_that_does_what_is_forecast_has_no_finding(name, nodes, collective):
    machine = named(name)
    table = table_of(curve_of(machine, nodes, collective, share=0.92), machine, nodes, collective)
    found = levels(judge(table, machine))
    assert found == {"number-low": Level.PASS}


CAUSES = [
    ("dgx-h100", 1, {"NCCL_P2P_DISABLE": "1"}, (), (), "SHM"),
    ("dgx-a100", 1, {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL"}, (), (), "Tree with LL at"),
    ("dgx-h100", 1, {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}, (), (), "Ring with LL at"),
    ("dgx-a100", 1, {"NCCL_MAX_NCHANNELS": "2"}, (), (), "2 channels only"),
    ("dgx-h100", 2, {}, (), tuple(f"NIC{number}" for number in range(1, 12)), "1 of "),
    ("dgx-h100", 2, {}, ("NIC0.width=4",), (), "NIC runs with 4 lanes"),
    ("dgx-h100", 2, {}, ("NIC0.width=8",), (), "NIC runs with 8 lanes"),
    ("dgx-h100", 1, {}, ("GPU7.nvlinks=9",), (), "half of its NVLinks"),
    ("dgx-a100", 2, {"NCCL_NET_GDR_LEVEL": "LOC"}, (), (), "no GPUDirect RDMA"),
    ("pcie-no-switch", 1, {}, ("GPU3.width=4",), (), "GPU runs with 4 lanes"),
]


@pytest.mark.parametrize(("name", "nodes", "settings", "sets", "drops", "first"), CAUSES)
def test_the_cause_that_made_it_slow_is_named_first(name, nodes, settings, sets, drops, first):
    machine = named(name)
    slow = replace(machine, topology=edited(machine.running, sets, drops))
    curve = curve_of(slow, nodes, Collective.ALL_REDUCE, settings, share=0.98)
    judged = judge(table_of(curve, machine, nodes, Collective.ALL_REDUCE), machine)
    assert levels(judged)["number-low"] in (Level.WARN, Level.FAIL)
    causes = [one.cause.what for one in judged.causes]
    assert first in causes[0], causes
    assert judged.departs[-1] == judged.curve[-1].size


@pytest.mark.parametrize(("name", "nodes"), [("dgx-h100", 1), ("dgx-a100", 2), ("pcie-switch", 1)])
@pytest.mark.parametrize("share", [0.8, 0.9, 1.05])
def test_a_healthy_curve_has_no_cause(name, nodes, share):
    machine = named(name)
    judged = judge(table_of(curve_of(machine, nodes, C, share=share), machine, nodes, C), machine)
    assert judged.causes == ()
    assert levels(judged) == {"number-low": Level.PASS}


@pytest.mark.parametrize(("name", "nodes"), [("dgx-h100", 1), ("dgx-a100", 2)])
def test_a_slow_rank_makes_all_sizes_slower_alike(name, nodes):
    machine = named(name)
    curve = curve_of(machine, nodes, C, share=0.6)
    assert "one slow rank" in judge(table_of(curve, machine, nodes, C), machine).causes[0].cause.what
    uneven = {size: by * (0.4 if size < 1 << 28 else 1.4) for size, by in curve.items()}
    judged = judge(table_of(uneven, machine, nodes, C), machine)
    assert not any("one slow rank" in one.cause.what for one in judged.causes)


def test_sockets_are_the_cause_between_nodes_that_reach_what_tcp_does():
    machine = named("dgx-a100")
    reached = {size: min(9.0, 0.02 * size / (1 << 20)) for size in curve_of(machine, 2, C)}
    for most, nodes in ((9.0, 2), (40.0, 2), (9.0, 1)):
        table = table_of({size: by * most / 9.0 for size, by in reached.items()}, machine, nodes, C)
        found = [one.cause.what for one in judge(table, machine).causes]
        assert any("TCP sockets" in one for one in found) is (most < 12 and nodes > 1), found


def test_where_nothing_fits_what_lies_between_gpus_and_nics_is_named():
    """What NCCL reached on two VMs with a flat PCI tree (nccl-tests#256): 12 % of the forecast, growing late."""
    machine = named("dgx-h100")
    curve = {32 << 20: 2.95, 1 << 30: 31.21, 8 << 30: 54.97}
    judged = judge(table_of(curve, machine, 2, C), machine)
    assert [one.cause.id for one in judged.causes] == ["acs-enabled"]
    assert "; often: GPUs and NICs exchange through the CPU" in judged.findings[-1].message


def test_one_size_does_not_tell_settings_from_hardware():
    machine = named("dgx-a100")
    whole = curve_of(machine, 2, C, {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL"})
    for sizes in ([1 << 33], [1 << 20, 1 << 26, 1 << 30]):
        table = table_of({size: whole[size] for size in sizes}, machine, 2, C)
        seldom = [one.cause.what for one in judge(table, machine).causes if one.cause.seldom]
        assert bool(seldom) is (len(sizes) > 1), seldom


def test_two_h200_without_p2p_are_found_to_use_host_memory():
    """What NCCL 2.28.9 reached on two GPUs of this machine with NCCL_P2P_DISABLE=1 (benchmarks/gpu_vs_nccl)."""
    reached = {2: 21.07, 8: 26.04, 32: 27.01, 128: 27.32, 512: 27.46, 1024: 27.26}
    machine = named("h200x4")
    curve = {size << 20: by for size, by in reached.items()}
    table = replace(table_of(curve, machine, 1, Collective.ALL_REDUCE), ranks=2, library="2.28.9")
    judged = judge(table, machine)
    assert levels(judged)["number-low"] is Level.FAIL
    assert "(SHM)" in judged.causes[0].cause.what


def test_two_h200_with_trees_and_ll_are_found_to_use_them():
    """What NCCL 2.28.9 reached there with NCCL_ALGO=Tree NCCL_PROTO=LL (benchmarks/predict/measured.jsonl)."""
    reached = {1: 56.7, 4: 89.2, 16: 106.6, 128: 113.3, 512: 113.8, 1024: 114.0}
    machine = named("h200x4")
    curve = {size << 20: by for size, by in reached.items()}
    judged = judge(replace(table_of(curve, machine, 1, C), ranks=2, library="2.28.9"), machine)
    assert levels(judged)["number-low"] in (Level.WARN, Level.FAIL)
    assert "Tree with LL at" in judged.causes[0].cause.what


def test_a_table_of_symmetric_windows_is_judged_by_their_forecast():
    """Slower than rings at large sizes, and no fault: NCCL 2.28.9 on two H200 (benchmarks/gpu_vs_nccl)."""
    reached = {2: 114.6, 8: 208.7, 32: 259.1, 128: 248.7, 512: 254.4, 1024: 255.6}
    machine = named("h200x4")
    table = table_of({size << 20: by for size, by in reached.items()}, machine, 1, C)
    table = replace(table, ranks=2, library="2.28.9")
    assert levels(judge(table, machine, settings={"NCCL_NVLS_ENABLE": "0"}))["number-low"] is not Level.PASS
    table = replace(table, symmetric=True)
    judged = judge(table, machine, settings={"NCCL_NVLS_ENABLE": "0"})
    assert levels(judged) == {"number-low": Level.PASS}


@pytest.mark.parametrize("how", ["arguments", "settings", "in force"])
def test_a_table_by_copy_engines_is_unknown(how):
    machine, policy = named("dgx-h100"), {"NCCL_CTA_POLICY": "ZERO"}
    table = table_of(curve_of(machine, 1, Collective.ALL_TO_ALL), machine, 1, Collective.ALL_TO_ALL)
    table = replace(table, symmetric=True, library="2.28.9", zero_cta=how == "arguments")
    options = {"settings": {"settings": policy}, "in force": {"in_force": policy}}.get(how, {})
    judged = judge(table, machine, **options)
    assert levels(judged) == {"number-low": Level.UNKNOWN}
    assert "copy engines" in judged.findings[0].message
    assert levels(judge(replace(table, symmetric=False), machine, **options)) == {"number-low": Level.PASS}


def test_processes_that_are_bound_elsewhere_are_a_cause_where_the_host_takes_part():
    for name, nodes, found in (("dgx-h100", 2, True), ("dgx-h100", 1, False)):
        machine = named(name)
        for share in (0.37, 0.33):
            judged = judge(table_of(curve_of(machine, nodes, C, share=share), machine, nodes, C), machine)
            assert ("numa-misbound" in [one.cause.id for one in judged.causes]) is found


def test_a_flat_vm_is_named_first_and_its_forecast_is_an_upper_bound():
    """Two VMs with a flat PCI tree (nccl-tests#256) beside such a machine."""
    machine = named("vm-flat")
    judged = judge(table_of({32 << 20: 2.95, 864 << 20: 50.92, 7776 << 20: 54.97}, machine, 2, C), machine)
    assert judged.causes[0].cause.id == "vm-flat-topology"
    assert "it fits: data passes host memory" in judged.findings[-1].message
    assert "upper bound" in judged.remarks[0]
    whole = judge(table_of(curve_of(machine, 1, C), machine, 1, C), machine)
    assert (levels(whole), whole.remarks) == ({"number-low": Level.PASS}, ())


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-a100"])
@pytest.mark.parametrize("collective", [C, Collective.ALL_GATHER, Collective.ALL_TO_ALL])
def test_nics_of_another_numa_node_are_the_cause(name, collective):
    """The sockets' links, of 22 GB/s and less, carry what all NICs do."""
    machine = named(name)
    run = MeasuredRun(collective=collective, sizes=tuple(SIZES), nodes=2)
    curve = run.predicted_by(crossed(run.plan(machine)))
    judged = judge(table_of(curve, machine, 2, collective), machine)
    assert levels(judged)["number-low"] is Level.FAIL
    assert "another NUMA node" in " ".join(one.cause.what for one in judged.causes), judged.causes
    alone = table_of({1 << 30: curve[1 << 30]}, machine, 2, collective)
    slow = table_of(curve_of(machine, 2, collective, share=0.6), machine, 2, collective)
    for other in (alone, slow):
        assert not any("another NUMA node" in one.cause.what for one in judge(other, machine).causes)


def test_where_all_nics_are_on_one_numa_node_they_are_on_no_other():
    run = MeasuredRun(collective=C, sizes=(1 << 30,), nodes=2)
    drops = [f"NIC{number}" for number in range(6, 12)]
    assert (
        crossed(run.plan(replace(named("dgx-h100"), topology=edited(named("dgx-h100").running, drops=drops)))) is None
    )


def test_of_several_nodes_the_share_of_a_nic_is_named():
    machine = named("dgx-a100")
    nics = 8  # of 12: the others are for storage
    for nodes in (1, 2):
        curve = curve_of(machine, nodes, Collective.ALL_REDUCE, share=0.5)
        judged = judge(table_of(curve, machine, nodes, Collective.ALL_REDUCE), machine)
        words = f"(about {judged.reached / nics:.3g} GB/s for each of the {nics} NICs that NCCL takes)"
        assert (words in judged.findings[0].message) == (nodes == 2)


def test_settings_in_force_are_a_cause_and_assumed_ones_are_not():
    machine, slow = named("dgx-a100"), {"NCCL_P2P_DISABLE": "1"}
    table = table_of(curve_of(machine, 1, Collective.ALL_REDUCE, slow), machine, 1, Collective.ALL_REDUCE)
    causes = [one.cause.what for one in judge(table, machine, in_force=slow).causes]
    assert causes[0] == "settings in force: NCCL_P2P_DISABLE=1"
    other = judge(table, machine, in_force={"NCCL_DEBUG": "INFO"})
    assert not any("in force" in one.cause.what for one in other.causes)
    assert levels(judge(table, machine, settings=slow, in_force=slow)) == {"number-low": Level.PASS}


@pytest.mark.parametrize(
    ("name", "collective", "fault", "level"),
    [
        ("dgx-h100-nic-x8", C, "pcie-link-degraded at 0000:18:00.0", Level.WARN),
        ("dgx-h100-port-down", Collective.ALL_GATHER, "ib-port-down at mlx5_3:1", Level.PASS),  # one of eight NICs
    ],
)
def test_a_fault_of_the_machine_is_a_cause_and_the_forecast_is_without_it(name, collective, fault, level):
    machine, whole = load_machine(f"@{name}"), named("dgx-h100")
    now, should = curve_of(machine, 2, collective), curve_of(whole, 2, collective)
    assert now[SIZES[-1]] < 0.9 * should[SIZES[-1]]
    judged = judge(table_of(now, machine, 2, collective), machine)
    assert judged.forecast[SIZES[-1]] == pytest.approx(should[SIZES[-1]], rel=0.01)
    assert levels(judged)["number-low"] is level
    assert [one.cause.what for one in judged.causes[:1]] == [f"a fault of the machine: {fault}"] * (level is Level.WARN)
    expected = f"as it should be; as it is, with {fault}, {judged.reached:.4g} GB/s"
    assert any(remark.endswith(expected) for remark in judged.remarks)


def test_a_fault_under_which_nccl_finds_no_channels_leaves_the_bound_and_other_causes(monkeypatch):
    machine = load_machine("@dgx-h100-nic-x8")
    table, predicted = table_of(curve_of(machine, 2, C), machine, 2, C), MeasuredRun.predicted

    def none_as_it_is(run, on, *others, **options):
        if on is machine:
            raise UsageError("no channels")
        return predicted(run, on, *others, **options)

    monkeypatch.setattr(MeasuredRun, "predicted", none_as_it_is)
    judged = judge(table, machine)
    assert judged.bound is not None
    assert judged.remarks == ()
    assert levels(judged)["number-low"] is Level.WARN


def test_a_fault_that_takes_nothing_of_the_forecast_is_not_told():
    machine = load_machine("@dgx-h100-nic-x8")  # within the node nothing passes a NIC
    judged = judge(table_of(curve_of(machine, 1, C), machine, 1, C), machine)
    assert (judged.remarks, levels(judged)) == ((), {"number-low": Level.PASS})


@pytest.mark.parametrize("share", [0.96, 1.06])
def test_without_nvls_that_is_the_cause(share):
    machine = named("dgx-h100")
    curve = curve_of(machine, 1, Collective.ALL_REDUCE, {"NCCL_NVLS_ENABLE": "0"}, share=share)
    judged = judge(table_of(curve, machine, 1, Collective.ALL_REDUCE), machine)
    assert levels(judged)["number-low"] is Level.WARN
    assert judged.causes[0].cause.what == "NVLink SHARP (NVLS) is not used"


def test_a_table_of_fewer_gpus_than_the_machine_has_is_forecast_for_those():
    machine = named("dgx-h100")
    whole = curve_of(machine, 1, Collective.ALL_GATHER)
    table = replace(table_of(whole, machine, 1, Collective.ALL_GATHER), ranks=2)
    two, eight = judge(table, machine), judge(replace(table, ranks=8), machine)
    assert two.forecast[8] < eight.forecast[8]


def test_settings_of_the_run_are_no_fault():
    machine, settings = named("dgx-a100"), {"NCCL_PROTO": "LL"}
    table = table_of(curve_of(machine, 1, Collective.ALL_REDUCE, settings), machine, 1, Collective.ALL_REDUCE)
    assert levels(judge(table, machine))["number-low"] is Level.WARN
    assert levels(judge(table, machine, settings=settings)) == {"number-low": Level.PASS}


def test_without_a_machine_nothing_is_said_of_the_number():
    machine = named("dgx-a100")
    table = table_of(curve_of(machine, 1, Collective.ALL_REDUCE), machine, 1, Collective.ALL_REDUCE)
    judged = judge(table, None, "name the machine")
    assert levels(judged) == {"number-low": Level.UNKNOWN}
    assert "name the machine" in judged.findings[0].message


@pytest.fixture
def good():
    machine = named("dgx-a100")
    curve = curve_of(machine, 1, Collective.ALL_REDUCE, share=0.95)
    return machine, curve, table_of(curve, machine, 1, Collective.ALL_REDUCE)


def test_a_dip_is_named_with_its_size(good):
    machine, curve, _ = good
    dip = {**curve, 16 << 20: curve[16 << 20] / 3}
    table = table_of(dip, machine, 1, Collective.ALL_REDUCE)
    for beside in (machine, None):
        (found,) = (one for one in judge(table, beside).findings if one.id == "dip-at-size")
        assert found.evidence["sizes"] == [16 << 20]
        assert "16 MiB" in found.message


@pytest.mark.parametrize("wide", [2, 3, 4])
def test_a_dip_of_several_sizes_is_named_with_all_of_them(good, wide):
    machine, curve, _ = good
    sizes = [(16 << 20) << number for number in range(wide)]
    table = table_of({**curve, **{size: curve[size] / 2.5 for size in sizes}}, machine, 1, Collective.ALL_REDUCE)
    (found,) = (one for one in judge(table, machine).findings if one.id == "dip-at-size")
    assert found.evidence["sizes"] == sizes


def test_a_plateau_is_named_with_the_size_from_which_it_holds(good):
    machine, curve, _ = good
    flat = {size: min(by, 60.0) for size, by in curve.items()}
    found = {one.id: one for one in judge(table_of(flat, machine, 1, Collective.ALL_REDUCE), machine).findings}
    assert found["plateau-early"].evidence["size"] <= 4 << 20


@pytest.mark.parametrize(("share", "level"), [(0.9, Level.PASS), (0.6, Level.UNKNOWN), (0.2, Level.FAIL)])
def test_small_sizes_alone_are_latency(good, share, level):
    machine, curve, _ = good
    small = {size: share * by / 0.95 for size, by in curve.items() if size < 1 << 20}
    found = judge(table_of(small, machine, 1, Collective.ALL_REDUCE), machine).findings
    assert [(one.id, one.level) for one in found] == [("number-low", level)]


def test_what_cannot_be_of_the_machine_is_unknown(good):
    machine, curve, table = good
    cases = {
        "above the bound": (table_of({size: 4 * by for size, by in curve.items()}, machine, 1, C), 0),
        "GPUs of another kind": (replace(table, devices=devices("NVIDIA H100 80GB HBM3", 8)), 0),
        "16 ranks, and 1 x 8 GPUs": (replace(table, ranks=16, nodes=1), 0),
        "2 hosts, and 3": (replace(table, ranks=16, nodes=2), 3),
        "8 ranks of the table do not spread": (replace(table, nodes=0), 3),
    }
    for words, (one, nodes) in cases.items():
        judged = judge(one, machine, nodes=nodes)
        assert levels(judged) == {"number-low": Level.UNKNOWN}, words
        assert words in judged.findings[0].message


def devices(gpu, count):
    return tuple(RankDevice(rank=rank, host="a", device=rank, bus_id="", gpu=gpu) for rank in range(count))


def test_the_same_product_by_its_heading_is_judged(good):
    machine, _, table = good
    same = replace(table, devices=devices("NVIDIA A100-SXM4-80GB", 8))
    assert levels(judge(same, machine)) == {"number-low": Level.PASS}


@pytest.mark.parametrize("last", [1, 4])
def test_a_collapse_at_the_largest_sizes_is_found(good, last):
    machine, curve, _ = good
    sizes = sorted(curve)[-last:]
    fallen = {size: by / 20 if size in sizes else by for size, by in curve.items()}
    (found,) = (one for one in judge(table_of(fallen, machine, 1, C), machine).findings if one.id == "dip-at-size")
    assert "does not recover" in found.message
    assert found.evidence["sizes"] == [sizes[0]]
    assert "plateau-early" not in levels(judge(table_of(fallen, machine, 1, C), machine))


def test_middle_sizes_that_are_slow_are_found_where_the_largest_are_good(good):
    machine, curve, _ = good
    slow = {size: by * (0.3 if size < 1 << 30 else 1.0) for size, by in curve.items()}
    (found,) = (one for one in judge(table_of(slow, machine, 1, C), machine).findings if one.id == "number-low")
    assert found.level is Level.WARN
    assert "but below half of it from 1 MiB to 512 MiB" in found.message


def test_a_cause_allows_what_was_reached(good):
    machine, curve, _ = good
    for share in (0.6, 0.4, 0.2):
        judged = judge(table_of({size: share * by for size, by in curve.items()}, machine, 1, C), machine)
        assert all(one.gb_per_s[1 << 33] > 0.85 * judged.reached for one in judged.causes)
