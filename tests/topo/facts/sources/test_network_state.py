# SPDX-License-Identifier: Apache-2.0
"""Sources of the network's state: filters, providers of verbs, error counters; absent is not the same as none."""

import pytest
from tests.topo.rdma_tree import RdmaTree

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.ip_stack import IpStack, read_ip_stack
from railgauge.topo.facts.sources.port_errors import read_port_errors
from railgauge.topo.facts.sources.verbs_stack import VerbsStack, read_verbs_stack

CONF = "proc/sys/net/ipv4/conf"


@pytest.fixture
def tree(tmp_path):
    return RdmaTree(tmp_path)


def reader(tree):
    return LiveReader(str(tree.root))


def test_the_greater_filter_of_an_interface_and_of_all_counts(tree):
    for name, value in {"all": "1", "eth0": "0", "eth1": "2", "lo": "0", "default": "0"}.items():
        tree.write(f"{CONF}/{name}/rp_filter", value)
    assert read_ip_stack(reader(tree)).rp_filter == (("eth0", 1), ("eth1", 2))


def test_filters_are_known_only_where_modules_were_listed(tree):
    assert read_ip_stack(reader(tree)) == IpStack()
    tree.write("sys/module/nvidia_peermem/version", "1")
    assert read_ip_stack(reader(tree)).filters is None
    tree.write("sys/module/kernel/version", "1")
    assert read_ip_stack(reader(tree)).filters == ()
    tree.write("sys/module/nf_tables/refcnt", "1")
    assert read_ip_stack(reader(tree)).filters == ("nf_tables",)


def test_ports_and_ufw(tree):
    tree.write("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999")
    tree.write("etc/ufw/ufw.conf", "# on\nENABLED=yes\n")
    found = read_ip_stack(reader(tree))
    assert (found.ports, found.ufw) == ((32768, 60999), True)


def test_nodes_and_providers_of_devices(tree):
    function = tree.device("mlx5_0", "0000:17:00.0")
    assert read_verbs_stack(reader(tree)) == VerbsStack()
    tree.link(f"{function}/driver", "/sys/bus/pci/drivers/mlx5_core")
    tree.write("sys/bus/pci/drivers/mlx5_core/bind", "")
    tree.write("sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0")
    tree.write("etc/libibverbs.d/mlx5.driver", "driver mlx5")
    tree.write("dev/null", "")
    found = read_verbs_stack(reader(tree))
    assert found == VerbsStack(
        nodes=(), providers=("mlx5",), uverbs=(("mlx5_0", "uverbs3"),), drivers=(("mlx5_0", "mlx5"),)
    )
    tree.write("dev/infiniband/uverbs3", "")
    assert read_verbs_stack(reader(tree)).nodes == ("uverbs3",)


def test_counters_that_are_there(tree):
    tree.device("mlx5_0", "0000:17:00.0")
    tree.port("mlx5_0")
    real = "sys/devices/pci0000:17/0000:17:00.0/infiniband/mlx5_0/ports/1"
    tree.write(f"{real}/counters/symbol_error", "3")
    tree.write(f"{real}/hw_counters/out_of_sequence", "5")
    tree.write(f"{real}/counters/link_downed", "?")
    [found] = read_port_errors(reader(tree))
    assert (found.device, found.port) == ("mlx5_0", 1)
    assert found.counts == {"symbol_error": 3, "out_of_sequence": 5}
