# SPDX-License-Identifier: Apache-2.0
"""The bound on NVLS proves itself, and no prediction exceeds it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.topo.predict.planned import plan

from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.steering import read_steering
from railgauge.topo.predict.forecast import forecast, nccl_rows
from railgauge.topo.predict.nvls_bound import nvls_bound, nvls_found
from railgauge.topo.predict.nvls_graph import switch_links

H200 = "@h200x4"  # of which no NIC is near a GPU
WITH_NVLS = ("@dgx-h100", "@dgx-h100-nvlink-down", H200, "@gb200-tray")
MOST = 8 << 30


@pytest.mark.parametrize(
    ("name", "nodes"),
    [(name, nodes) for name in WITH_NVLS for nodes in (1, 2, 16) if (name, nodes == 1) != (H200, False)],
)
def test_weights_and_capacities_add_up_and_no_prediction_exceeds_the_bound(name, nodes):
    where = plan(name, nodes)
    bound = nvls_bound(where)
    capacity = {(link.source, link.target): link.gb_per_s for link in where.system.links}
    assert sum(capacity[source, target] * weight for source, target, weight in bound.weights) == pytest.approx(
        bound.gb_per_s
    )
    allowed = read_allowed({"NCCL_ALGO": "NVLS,NVLSTree"})
    (row,) = forecast(where, Collective.ALL_REDUCE, (MOST,), allowed, nccl_rows).rows
    assert row.algbw_gb_per_s < bound.gb_per_s


@pytest.mark.parametrize("name", WITH_NVLS)
@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_any_parts_of_the_heads_weigh_at_least_1(name, parts):
    """Each GPU's way to the switches carries all data, and its part as a head again; the parts add up to 1."""
    where = plan(name)
    cards = sorted({link.source for link in switch_links(where) if link.source.startswith("DEV/")})
    used = parts[: len(cards)]
    total = sum(used) or 1.0
    share = {card: (part / total if sum(used) else 1 / len(cards)) for card, part in zip(cards, used, strict=True)}
    weighs = sum(weight * (1 + share[source]) for source, _, weight in nvls_bound(where).weights)
    assert weighs >= 1 - 1e-6


def test_the_figures_of_a_dgx_h100():
    """Eight ninths of 18 links of 20.6 GB/s; of 16 nodes each sends 15/8 of the data by 8 PCI links of 48 GB/s."""
    assert nvls_bound(plan("@dgx-h100")).gb_per_s == pytest.approx(370.8 * 8 / 9)
    assert nvls_bound(plan("@dgx-h100", 16)).gb_per_s == pytest.approx(8 * 48 / (2 * 15 / 16))
    reducing = replace(plan("@dgx-h100", 16), steering=read_steering({"NCCL_COLLNET_ENABLE": "1"}))
    assert nvls_bound(reducing).gb_per_s == pytest.approx(370.8 * 8 / 9)


def test_without_nvls_there_is_none():
    assert nvls_found(plan("@dgx-a100")) is None
