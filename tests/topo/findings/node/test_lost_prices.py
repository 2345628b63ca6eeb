# SPDX-License-Identifier: Apache-2.0
"""A lost GPU or NIC has the price that `graph predict` gives it on a machine that has it, or says why there is none."""

import re

import pytest
from tests.cli.command import in_process
from tests.topo.expect.test_lost import A100, DGX, HGX, MESH, NO_MODEL, gone, listed, nic_of, off_pci
from tests.topo.findings.node.cases import IB, SEVERAL, case, findings
from tests.topo.findings.node.planted import link

from railgauge.topo.findings.node.effect import repaired
from railgauge.topo.findings.node.lost_price import UNPRICED
from railgauge.topo.findings.node.rules import repairs
from railgauge.topo.xml.tree import thaw

V100 = "dgx-1v"
SEVEN = [0, 1, 2, 4, 5, 6, 7]
NIC3 = {f"{IB}/mlx5_3": None}
LOST = {
    "a GPU that NVML does not list": (DGX, "GPU3", "gpu-lost", case(DGX, facts=listed(DGX, SEVEN))),
    "a GPU that CUDA does not list": (DGX, "GPU3", "gpu-lost", case(DGX, facts=listed(DGX, SEVEN, "cuda"))),
    "a GPU that is gone": (HGX, "GPU3", "gpu-lost", gone(HGX, 3, files=NO_MODEL)),
    "the first GPU": (A100, "GPU0", "gpu-lost", gone(A100, 0, files=NO_MODEL)),
    "a NIC without its RDMA device": (DGX, "mlx5_3", "nic-lost", case(DGX, files=NIC3)),
    "a NIC that is gone": (DGX, "mlx5_3", "nic-lost", case(DGX, files=NIC3 | off_pci(DGX, nic_of(DGX, 3)))),
}


def own_name(line, named):
    """The line for two nodes with one name for the NIC that is unused."""
    return re.sub(rf"{re.escape(named)} unused", "it unused", SEVERAL.sub("", line))


@pytest.mark.parametrize("fault", LOST)
def test_a_price_is_the_first_line_of_graph_predict(fault):
    name, device, identifier, machine = LOST[fault]
    [found] = findings(identifier, machine)
    wanted = ("--policy", "nccl", "--nodes", str(min(2, 1 + len(machine.system.nets))), "-b", "1G")
    said = in_process("graph", "predict", "all_reduce", "--from", f"@{name}", "--drop", device, *wanted).stdout
    assert own_name(found.effect, found.subject) == own_name(said.splitlines()[0], device)


def gpus_with_links(topology):
    """The GPUs by number with their NVLinks, in any order."""
    gpus = sorted((one for one in thaw(topology.root).walk() if one.name == "gpu"), key=lambda one: int(one.get("dev")))
    return [sorted(tuple(link.attributes.items()) for link in one.all("nvlink")) for one in gpus]


def test_a_gpu_of_a_mesh_is_back_on_the_wires_that_lead_to_it():
    machine = case(V100, facts=listed(V100, [0, 1, 2, 3, 4, 6, 7]))
    assert gpus_with_links(repaired(machine, repairs(machine)).topology) == gpus_with_links(case(V100).topology)


@pytest.mark.parametrize("name", [MESH, DGX])
def test_where_a_gpu_was_that_nobody_knows_has_no_price(name):
    rail = off_pci(DGX, nic_of(DGX, 0)) | {f"{IB}/mlx5_0": None}
    [found] = findings("gpu-lost", gone(MESH, 3) if name == MESH else gone(DGX, 0, files=rail))
    assert found.effect.endswith(UNPRICED)


def test_a_fault_in_another_part_of_a_node_that_nccl_splits_is_not_said_to_cost_nothing():
    (slow,) = findings("pcie-link-degraded", case("pcie-switch", files=link("0000:43:00.0", 4)))
    assert slow.effect.startswith("no price: NCCL splits the node")
