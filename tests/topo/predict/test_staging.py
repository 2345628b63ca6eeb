# SPDX-License-Identifier: Apache-2.0
"""Host memory that data passes: the forecast of a VM without NUMA nodes says so, and that it is an upper bound."""

import pytest
from tests.topo.predict.planned import plan

from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.remarks import remarks
from railgauge.topo.predict.staging import needs_host


@pytest.mark.parametrize(
    ("name", "nodes", "p2p", "words"),
    [
        ("@vm-flat", 2, True, "GPUs and NICs exchange through host memory (PHB, no GPUDirect RDMA)"),
        ("@vm-flat", 1, True, ""),
        ("@vm-flat", 1, False, "GPUs exchange through host memory (SHM)"),
        ("@h200x4", 1, False, "GPUs exchange through host memory (SHM)"),
        ("@dgx-h100", 2, True, ""),
        ("@dgx-h100", 1, False, ""),
        ("@pcie-no-switch", 2, True, ""),
    ],
)
def test_a_machine_without_numa_nodes_says_what_it_cannot_know(name, nodes, p2p, words):
    found = remarks(plan(name, nodes, p2p=p2p), Collective.ALL_REDUCE)
    assert [words in one and "upper bound" in one for one in found] == [True] * bool(words)


@pytest.mark.parametrize(
    ("name", "nodes", "p2p", "needed"),
    [("@dgx-h100", 1, True, False), ("@dgx-h100", 2, True, True), ("@dgx-h100", 1, False, True)],
)
def test_the_host_takes_part_between_nodes_and_without_p2p(name, nodes, p2p, needed):
    assert needs_host(plan(name, nodes, p2p=p2p)) is needed
