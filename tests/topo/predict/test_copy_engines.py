# SPDX-License-Identifier: Apache-2.0
"""Collectives by copy engines: when NCCL takes them, and that they have no forecast."""

from dataclasses import replace

import pytest
from tests.topo.predict.planned import plan

from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.steering import Steering, read_steering
from railgauge.topo.predict import copy_engines
from railgauge.topo.predict.forecast import forecast, nccl_rows

GATHER, TO_ALL, REDUCE = Collective.ALL_GATHER, Collective.ALL_TO_ALL, Collective.ALL_REDUCE
GIB = 1 << 30


def where(name, nodes=1, *, asked=True, release=(2, 28, 9), datatype="float"):
    steering = Steering(zero_cta=asked)
    return replace(plan(name, nodes), symmetric=True, steering=steering, release=release, datatype=datatype)


@pytest.mark.parametrize(
    ("name", "nodes", "options", "collective", "size", "found"),
    [
        ("@dgx-h100", 1, {}, TO_ALL, GIB, True),
        ("@dgx-h100", 1, {}, GATHER, 8, True),
        ("@dgx-h100", 1, {}, REDUCE, GIB, False),
        ("@dgx-h100", 1, {"asked": False}, TO_ALL, GIB, False),
        ("@dgx-h100", 1, {"release": (2, 27, 7)}, GATHER, GIB, False),
        ("@dgx-h100", 2, {"release": (2, 30, 4)}, GATHER, GIB, False),
        ("@dgx-h100", 2, {"release": (2, 30, 7)}, GATHER, GIB, True),
        ("@dgx-h100", 2, {"release": (2, 30, 7)}, Collective.GATHER, GIB, False),
        ("@pcie-switch", 1, {}, TO_ALL, GIB, True),
        ("@pcie-switch", 1, {"release": (2, 30, 3)}, TO_ALL, GIB, False),
        ("@gb200-tray", 1, {"asked": False, "release": (2, 29, 2)}, GATHER, GIB, True),
        ("@gb200-tray", 1, {"asked": False, "release": (2, 29, 2)}, GATHER, 128 << 20, False),
        ("@gb200-tray", 1, {"asked": False, "release": (2, 29, 2), "datatype": "half"}, GATHER, 128 << 20, True),
        ("@gb200-tray", 1, {"asked": False, "release": (2, 28, 9)}, GATHER, GIB, False),
        ("@gb200-tray", 1, {"asked": False, "release": (2, 29, 2)}, TO_ALL, GIB, False),
        ("@dgx-h100", 1, {"asked": False, "release": (2, 29, 2)}, GATHER, GIB, False),
    ],
)
def test_nccl_takes_them(name, nodes, options, collective, size, found):
    there = where(name, nodes, **options)
    assert bool(copy_engines.why(there, collective, size)) is found
    assert not copy_engines.why(replace(there, symmetric=False), collective, size)
    if found:
        with pytest.raises(UnavailableError, match=r"copy engines here .*not modelled"):
            forecast(there, collective, [size], read_allowed({}), nccl_rows)
    else:
        assert forecast(there, collective, [size], read_allowed({}), nccl_rows).rows


@pytest.mark.parametrize(
    ("policy", "zero"),
    [
        ("2", True),
        ("ZERO", True),
        ("efficiency|zero", True),
        ("1", False),
        ("DEFAULT", False),
        ("", False),
        ("x2", False),
    ],
)
def test_the_policy_as_nccl_reads_it(policy, zero):
    assert read_steering({"NCCL_CTA_POLICY": policy}).zero_cta is zero


@pytest.mark.parametrize(
    ("threshold", "said"), [("1048576", "more than 1 Mi"), ("1000", "more than 1,000"), ("16777216", "")]
)
def test_the_size_from_which_blackwell_copies_is_a_setting(threshold, said):
    steering = read_steering({"NCCL_SYM_CE_THRESHOLD": threshold})
    there = replace(where("@gb200-tray", asked=False, release=(2, 29, 2)), steering=steering)
    why = copy_engines.why(there, GATHER, 32 << 20)  # 2 Mi elements of each of 4 ranks
    assert said in why
    assert bool(why) is bool(said)
