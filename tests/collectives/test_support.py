# SPDX-License-Identifier: Apache-2.0
"""What is listed as working is what the engine does, and what it does not do is not."""

import pytest

from railgauge.collectives import support
from railgauge.collectives.device import Device, check_device
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.operation import NUMBERS, REDUCING
from railgauge.collectives.support import reductions, supported
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.transports.available import Available

HERE = [
    Available("P2P", "no GPU"),
    Available("SHM", None),
    Available("NET/Socket", None),
    Available("NET/IB", "no card"),
]


def found(transports=HERE):
    return {(one.collective, one.device, one.transport): one for one in supported(transports)}


def test_every_collective_is_listed_over_every_transport_of_a_device():
    names = {(device, transport) for _, device, transport in found()}
    assert names == {("cpu", t) for t in ("SHM", "NET/Socket", "NET/IB")} | {
        ("cuda", t) for t in ("P2P", "SHM", "NET/Socket", "NET/IB")
    }
    assert len(found()) == len(NUMBERS) * 7


def test_host_memory_works_over_what_is_there():
    for collective in NUMBERS:
        assert found()[collective, Device.CPU, "SHM"].why_not is None
        assert found()[collective, Device.CPU, "NET/Socket"].why_not is None
        assert found()[collective, Device.CPU, "NET/IB"].why_not == "no card"


def test_gpus_work_over_what_is_there(monkeypatch):
    monkeypatch.setattr(support, "why_no_gpu", lambda: None)
    listed = found()
    assert listed[Collective.ALL_REDUCE, Device.CUDA, "SHM"].algorithms == ("one-shot", "two-shot", "ring", "tree")
    assert listed[Collective.ALL_TO_ALL, Device.CUDA, "NET/Socket"].algorithms == ("two-shot",)


def test_without_a_gpu_nothing_works_there(monkeypatch):
    monkeypatch.setattr(support, "why_no_gpu", lambda: "no driver")
    assert {one.why_not for key, one in found().items() if key[1] == Device.CUDA} == {"no driver"}


def test_what_is_missing_takes_everything_over_it():
    lost = found([Available("SHM", "forbidden")])
    assert {(one.why_not, one.algorithms) for key, one in lost.items() if key[1] == "cpu"} == {("forbidden", ())}


def test_algorithms_are_those_that_the_engine_has():
    listed = found()
    reduced = listed[Collective.ALL_REDUCE, Device.CPU, "SHM"]
    assert {Algorithm.RING, Algorithm.TREE, Algorithm.ONE_SHOT, Algorithm.TWO_SHOT} == {*reduced.algorithms}
    assert {*listed[Collective.ALL_REDUCE, Device.CPU, "NET/Socket"].algorithms} == {
        Algorithm.RING,
        Algorithm.TREE,
        Algorithm.RECURSIVE_DOUBLING,
        Algorithm.RECURSIVE_HALVING,
        Algorithm.HIERARCHICAL,
    }
    assert {*listed[Collective.ALL_TO_ALL, Device.CPU, "NET/Socket"].algorithms} == {Algorithm.PAIRS}
    assert {key[0] for key, one in listed.items() if one.reduces} == {*REDUCING}


def test_every_operator_reduces_every_type():
    assert reductions() == {dtype: list(Redop) for dtype in Dtype}


def test_a_kernel_that_is_wrong_is_not_listed(monkeypatch):
    def combine(out, inputs, dtype, op, divisor):
        if (dtype, op) == (Dtype.HALF, Redop.MAX):
            op = Redop.MIN
        real(out, inputs, dtype, op, divisor)

    real = support.native.combine
    monkeypatch.setattr(support.native, "combine", combine)
    assert [(dtype, op) for dtype, ops in reductions().items() for op in Redop if op not in ops] == [
        (Dtype.HALF, Redop.MAX)
    ]


def test_devices():
    check_device("auto")
    check_device("cpu")
    check_device("cuda")
    with pytest.raises(UsageError, match="auto, cpu or cuda"):
        check_device("tpu")
