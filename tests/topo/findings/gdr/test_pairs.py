# SPDX-License-Identifier: Apache-2.0
"""GPUs with NICs: which port of a device a NIC of the topology stands for."""

from types import SimpleNamespace

import pytest
from tests.topo.rdma_tree import RdmaTree

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.findings.gdr.pairs import port_of


@pytest.mark.parametrize(("name", "counted"), [("mlx5_0", 1), ("mlx5_1", 2)])
def test_ports_of_two_functions_of_a_card_are_each_the_first_of_their_device(tmp_path, name, counted):
    tree = RdmaTree(tmp_path)
    for function in range(2):
        tree.device(f"mlx5_{function}", f"0000:18:00.{function}")
        tree.port(f"mlx5_{function}")
    case = SimpleNamespace(reader=LiveReader(str(tmp_path)), settings={})
    assert port_of(case, SimpleNamespace(name=name, port=counted)) == (name, 1)


@pytest.mark.parametrize(("counted", "own"), [(1, 1), (3, 2)])  # NCCL adds the ports before it to its number
def test_ports_of_one_device_keep_their_numbers(tmp_path, counted, own):
    tree = RdmaTree(tmp_path)
    tree.device("mlx4_0", "0000:18:00.0")
    for number in (1, 2):
        tree.port("mlx4_0", number)
    case = SimpleNamespace(reader=LiveReader(str(tmp_path)), settings={})
    assert port_of(case, SimpleNamespace(name="mlx4_0", port=counted)) == ("mlx4_0", own)
