# SPDX-License-Identifier: Apache-2.0
"""The ends of a path by the names people use."""

import pytest
from tests.topo.small_machines import gpu, hosts, machine, net, nic, switch

from railgauge.topo.errors import UsageError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.ends import find_end, names_of
from railgauge.topo.nccl.graph.system import build_system

SYSTEM = build_system(load_machine("@h200x4").topology)
NODE = machine(switch("0001:10:00.0", gpu("0001:1b:00.0", 0), nic("0001:12:00.0", 0)), net(7))


@pytest.mark.parametrize("name", ["GPU0", "gpu0", "GPU/0-60", "0000:00:06.0", "00000000:00:06.0"])
def test_a_gpu_by_all_its_names(name):
    assert find_end(SYSTEM, name).id == "GPU/0-60"


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("00000001:1B:00.0", "GPU/0-10001b000"),
        ("mlx5_0", "NET/0-0"),
        ("mlx5_0:1", "NET/0-0"),
        ("NIC7", "NET/0-7"),
        ("net0", "NET/0-0"),
        ("0001:12:00.0", "NET/0-0"),
        ("CPU1", "CPU/0-1"),
        ("NUMA0", "CPU/0-0"),
    ],
)
def test_ends_by_the_names_people_use(name, want):
    assert find_end(NODE, name.replace("GPU/0-10001b000", name)).id == want.replace("10001b000", "11b000")


def test_the_switch_of_a_fabric_has_a_name():
    assert find_end(SYSTEM, "NVS").id == find_end(SYSTEM, "nvs0").id == "NVS/0-0"


def test_another_host_is_named_before_the_number():
    system = hosts(gpu("0000:11:00.0", 0, rank=0), gpu("0000:11:00.0", 0, rank=1))
    assert find_end(system, "GPU0").id == "GPU/0-11000"
    assert find_end(system, "GPU1.0").id == "GPU/1-11000"


def test_every_end_is_found_by_the_names_it_is_listed_with():
    for node in (*NODE.gpus, *NODE.nets, *SYSTEM.gpus, *SYSTEM.nets):
        system = NODE if node in NODE.nodes else SYSTEM
        assert all(find_end(system, name) is node for name in (node.id, *names_of(node)))


@pytest.mark.parametrize("name", ["", "GPU", "GPU9", "mlx5_9", "CPU5", "0000:99:00.0", "DEV/0-60", "GPU/0-"])
def test_what_is_not_there_is_answered_with_what_is(name):
    with pytest.raises(UsageError, match=r"use one of .*GPU/0-60 \(GPU0\), NET/0-0 \(NIC0/eth0\)"):
        find_end(SYSTEM, name)


def test_a_port_is_found_by_the_devices_number_and_by_nccls():
    system = machine(nic("0001:12:00.0", 0).replace('port="1"', 'port="2"'))
    ports = {"mlx5_0": (1,)}
    for name in ("mlx5_0", "mlx5_0:1", "mlx5_0:2"):
        assert find_end(system, name, ports).id == "NET/0-0"
    for name, known in (("mlx5_0:3", ports), ("mlx5_0:1", {})):
        with pytest.raises(UsageError, match="unknown end"):
            find_end(system, name, known)


def test_a_cpu_of_no_known_numa_node_is_minus_one_and_the_hosts_only_node():
    for name in ("NUMA-1", "CPU-1", "NUMA0", "CPU0"):
        assert find_end(SYSTEM, name).id == "CPU/0-ffffffffffffff"
    assert names_of(SYSTEM.node("CPU/0-ffffffffffffff")) == ("NUMA-1", "NUMA0")
    assert names_of(NODE.node("CPU/0-0")) == ("NUMA0",)
