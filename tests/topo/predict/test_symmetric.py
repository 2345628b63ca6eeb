# SPDX-License-Identifier: Apache-2.0
"""Collectives on symmetric windows: which kernel NCCL chooses, when it has none, and times beside what was measured."""

from dataclasses import replace

import pytest
from tests.topo.predict.planned import plan, planned

from railgauge.topo.compare.what_if import edited
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.steering import read_steering
from railgauge.topo.predict import symmetric
from railgauge.topo.predict.forecast import forecast, nccl_rows
from railgauge.topo.predict.remarks import remarks

ANY = read_allowed({})
ALL_REDUCE = Collective.ALL_REDUCE
WITHOUT_NVLS = read_steering({"NCCL_NVLS_ENABLE": "0"})


def h200(gpus):
    topology = edited(load_machine("@h200x4").topology, drops=[f"GPU{number}" for number in range(gpus, 4)])
    return replace(planned(topology), symmetric=True, steering=WITHOUT_NVLS)


def row(where, size, collective=ALL_REDUCE):
    return forecast(where, collective, [size], ANY, nccl_rows).rows[0]


def test_small_sizes_take_flags_and_large_ones_loads_and_stores():
    where = h200(2)
    small, large = row(where, 2048), row(where, 1 << 26)
    assert (small.algorithm, small.protocol) == (Algorithm.ZERO_COPY, Protocol.LL)
    assert (large.algorithm, large.protocol) == (Algorithm.ZERO_COPY, Protocol.SIMPLE)
    assert large.limit.name == "GPU0"
    assert small.time_us < row(replace(where, symmetric=False), 2048).time_us


def test_multicast_is_taken_where_the_switches_have_it_from_three_gpus_on():
    dgx = replace(plan("@dgx-h100"), symmetric=True)
    assert row(dgx, 1 << 30).algorithm is Algorithm.NVLS
    assert row(replace(dgx, steering=WITHOUT_NVLS), 1 << 30).algorithm is Algorithm.ZERO_COPY
    two = planned(edited(load_machine("@dgx-h100").topology, drops=[f"GPU{number}" for number in range(2, 8)]))
    assert row(replace(two, symmetric=True), 1 << 30).algorithm is Algorithm.ZERO_COPY


@pytest.mark.parametrize(
    ("name", "nodes", "changed", "collective"),
    [
        ("@dgx-h100", 1, {"release": (2, 26, 5)}, ALL_REDUCE),
        ("@dgx-h100", 1, {"datatype": "double"}, ALL_REDUCE),
        ("@dgx-h100", 1, {"datatype": "int32"}, Collective.REDUCE_SCATTER),
        ("@dgx-h100", 1, {"redop": "max"}, ALL_REDUCE),
        ("@dgx-h100", 1, {}, Collective.BROADCAST),
        ("@dgx-h100", 1, {}, Collective.ALL_TO_ALL),
        ("@dgx-h100", 2, {}, ALL_REDUCE),
        ("@dgx-h100", 2, {}, Collective.ALL_GATHER),
        ("@pcie-switch", 1, {}, ALL_REDUCE),
    ],
)
def test_elsewhere_windows_change_nothing(name, nodes, changed, collective):
    where = replace(plan(name, nodes), **changed)
    assert not symmetric.may_run(replace(where, symmetric=True), collective)
    assert row(replace(where, symmetric=True), 1 << 26, collective) == row(where, 1 << 26, collective)
    assert symmetric.may_run(replace(plan("@dgx-h100"), symmetric=True, datatype="double"), Collective.ALL_GATHER)


@pytest.mark.parametrize("datatype", ["f8e4m3", "bfloat16"])
def test_sums_of_short_floats_have_a_kernel(datatype):
    assert symmetric.may_run(replace(plan("@dgx-h100"), symmetric=True, datatype=datatype), ALL_REDUCE)


@pytest.mark.parametrize(
    ("nodes", "release", "collective", "words"),
    [
        (1, (2, 28, 9), ALL_REDUCE, ""),
        (1, (2, 26, 5), ALL_REDUCE, "before 2.27"),
        (1, (2, 28, 9), Collective.BROADCAST, "no kernel of symmetric windows for this broadcast"),
        (
            2,
            (2, 28, 9),
            Collective.ALL_GATHER,
            "over several nodes NCCL runs all_gather in symmetric windows as without",
        ),
        (2, (2, 30, 7), ALL_REDUCE, "over several nodes NCCL runs all_reduce in symmetric windows as without"),
        (2, (2, 29, 2), Collective.ALL_GATHER, "GIN"),
        (2, (2, 29, 3), Collective.REDUCE_SCATTER, "as without"),
        (2, (2, 29, 7), Collective.REDUCE_SCATTER, "GIN"),
    ],
)
def test_where_windows_change_nothing_the_forecast_says_so(nodes, release, collective, words):
    where = replace(plan("@dgx-h100", nodes), release=release)
    found = remarks(replace(where, symmetric=True), collective)
    assert [words in one for one in found] == [True] * bool(words)
    assert remarks(where, collective) == ()


@pytest.mark.parametrize(
    ("name", "gpus", "size", "us"),
    [
        ("@h200x4", 2, 64 << 20, 210.7),
        ("@h200x4", 4, 1 << 20, 15.87),
        ("@h200x4", 4, 16 << 20, 92.08),
        ("@h200x4", 4, 1 << 30, 5071.3),
        ("@dgx-h100", 8, 16 << 20, 70.43),
        ("@dgx-h100", 8, 1 << 30, 3917.3),
    ],
)
def test_figures_that_nccl_measured_itself_are_met(name, gpus, size, us):
    """The samples of Hopper that NCCL 2.27 chose by (src/symmetric.cc), which set no constant."""
    where = h200(gpus) if name == "@h200x4" else replace(plan(name), symmetric=True)
    assert row(where, size).time_us == pytest.approx(us, rel=0.2)
