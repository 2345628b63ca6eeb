# SPDX-License-Identifier: Apache-2.0
"""RDMA devices of several outputs are one list: `rdma link`, a matrix without its legend; links need their device."""

import pytest
from tests.topo.facts.pasted import texts
from tests.topo.facts.pasted.test_read import facts

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pasted.read import read


def test_ports_of_rdma_link():
    found = {one.name: one.ports[0] for one in facts(texts.RDMA_LINK).rdma}
    assert [found[name].link_layer for name in ("mlx5_0", "mlx5_1", "mlx5_2")] == ["InfiniBand", "Ethernet", "Ethernet"]
    assert [found[name].state for name in ("mlx5_0", "mlx5_1", "mlx5_2")] == ["ACTIVE", "DOWN", "ACTIVE"]
    assert found["mlx5_2"].netdev == "enp59s0f0"


def test_nics_of_a_matrix_without_its_legend_are_those_of_the_other_output():
    matrix = "\tGPU0\tNIC0\tNIC1\nGPU0\tX\tPIX\tSYS\nNIC0\tPIX\tX\tSYS\nNIC1\tSYS\tSYS\tX\n"
    link = "link mlx5_{}/1 state ACTIVE physical_state LINK_UP netdev ens{}np0 netdev_index 4\n"
    capture = read([("a", (matrix + link.format(0, 1) + link.format(1, 2)).encode())])
    assert [one.name for one in MachineFacts(CaptureReader(capture)).rdma] == ["mlx5_0", "mlx5_1"]
    assert any("NIC0 is mlx5_0 assumed" in one for one in capture.manifest["assumed"])
    assert len(facts(matrix + link.format(0, 1) + link.format(7, 2)).rdma) > 2  # of another order: not the same


def test_links_of_no_device_are_told_from_what_is_no_output():
    links = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)\n"
    with pytest.raises(InputError, match="lines of lspci without those of their devices"):
        read([("x", links.encode())])
