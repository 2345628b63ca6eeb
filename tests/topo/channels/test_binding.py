# SPDX-License-Identifier: Apache-2.0
"""Bindings: cores, memory and NICs of each rank, and how launchers read them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo.channels.binding import Binding, bindings
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.facts.local_rank import local_rank
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import Node, NodeKind
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.render.binding import environment, numactl, port_names, rankfile, slurm, unknown
from railgauge.topo.xml import topology_file

MACHINES = ("dgx-h100", "dgx-a100", "dgx-1v", "gb200-tray", "gh200", "h200x4", "a100-4gpu", "power9-ac922")


def bound(name, devs=None, **changes):
    machine = replace(load_machine(f"@{name}").topology, **changes)
    gpus = sorted(build_system(machine).gpus, key=lambda gpu: gpu.dev)
    return bindings(machine, [gpus[dev] for dev in devs] if devs else gpus)


@pytest.mark.parametrize("name", MACHINES)
def test_cpus_of_ranks_are_disjoint_and_of_the_machine(name):
    machine = load_machine(f"@{name}").topology
    ranks = bound(name)
    taken = [cpu for rank in ranks for cpu in rank.cpus]
    assert taken
    assert len(taken) == len(set(taken))
    assert set(taken) <= {cpu for node in machine.numa for cpu in node.cpus}
    assert all(rank.numa in {node.id for node in machine.numa} for rank in ranks)


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(0, 7), min_size=1))
def test_a_gpu_has_the_same_cpus_in_every_job(devs):
    alone = {rank.gpu.dev: rank.cpus for rank in bound("dgx-h100")}
    assert {rank.gpu.dev: rank.cpus for rank in bound("dgx-h100", sorted(devs))} == {dev: alone[dev] for dev in devs}


def test_threads_of_a_core_stay_together():
    first = bound("dgx-h100")[0]
    assert first.cpus == (*range(14), *range(112, 126))
    assert (first.cores, first.numa) == (tuple(range(14)), 0)
    assert [net.name for net in first.nets] == ["mlx5_0"]


def test_cores_that_a_cpuset_leaves_are_the_jobs_own():
    one, other = bound("dgx-h100", [2, 3], allowed=frozenset({0, 1, 112, 2}))
    assert (one.cpus, other.cpus) == ((0, 112), (1, 2)) or (one.cpus, other.cpus) == ((0,), (1, 2))
    assert bound("dgx-h100", [4], allowed=frozenset({0}))[0].cpus == ()


def test_ranks_follow_the_order_of_the_gpus():
    assert [(rank.rank, rank.gpu.dev) for rank in bound("dgx-1v", [6, 2])] == [(0, 6), (1, 2)]


def test_a_machine_that_does_not_tell_leaves_ranks_unbound():
    gpu = '<pci busid="0000:10:00.0" class="0x030200"><gpu dev="0" sm="90" rank="0" gdr="1"/></pci>'
    text = f'<system version="1"><cpu numaid="-1" arch="x86_64">{gpu}</cpu></system>'
    machine = topology_file.loads(text)
    ranks = bindings(machine, build_system(machine).gpus)
    assert (ranks[0].cpus, ranks[0].cores, ranks[0].numa, ranks[0].nets) == ((), (), None, ())
    assert unknown(ranks) == ["GPU0"]
    assert "0) : ;;" in environment(ranks, ())


def test_launchers_syntax():
    ranks = bound("dgx-a100", [0, 2])
    assert rankfile(ranks, ["+n0", "+n1"]).splitlines() == [
        "rank 0=+n0 slot=48-55",
        "rank 1=+n0 slot=16-23",
        "rank 2=+n1 slot=48-55",
        "rank 3=+n1 slot=16-23",
    ]
    masks = (sum(1 << cpu for cpu in rank.cpus) for rank in ranks)
    assert f"--cpu-bind=mask_cpu:{','.join(map(hex, masks))} --gpu-bind=map_gpu:0,2" in slurm(ranks, 1)
    assert numactl(ranks).splitlines()[0] == "numactl --physcpubind=48-55,176-183 --preferred=3 # rank 0"


def net(name, port):
    return Node(id=f"NET/{name}{port}", kind=NodeKind.NET, index=0, name=name, port=port)


def beside(*nets):
    gpu = Node(id="GPU/0", kind=NodeKind.GPU, index=0, dev=0)
    return Binding(rank=0, gpu=gpu, cpus=(), cores=(), numa=None, nets=nets)


@pytest.mark.parametrize(
    "name", ["m;touch x", "$(touch x)", "a\nb", "a'b", "`x`", "a b", "eth0 #", "é", "\x1b[2J", "a,b"]
)
def test_a_name_that_no_device_has_reaches_no_shell(name):
    rank = beside(net(name, 1), net("mlx5_0", 1))
    for bad in (rank, replace(rank, nets=(net(f"mlx5_0+{name}", 1),)), replace(rank, nets=(net(name, 0),))):
        with pytest.raises(InputError, match="not a valid NIC name"):
            environment([bad], bad.nets)


@pytest.mark.parametrize("host", ["a\nrank 1=b slot=0", "a slot=0", "", "-h", "$(id)", "+n0\n", "+nx", "a" * 300])
def test_a_name_that_no_host_has_reaches_no_rankfile(host):
    with pytest.raises(InputError, match="not a valid host name"):
        rankfile(bound("dgx-a100", [0]), [host])


def test_a_nic_without_a_name_is_left_out_for_the_shell():
    rank = beside(net(None, 1))
    assert "0) : ;;" in environment([rank], rank.nets)
    assert "NCCL_IB_HCA" not in environment([rank], rank.nets)
    assert port_names(rank.nets, rank.nets) == ["?:1"]


def test_ports_have_their_devices_number():
    one, two, alone, merged, plain = net("a", 1), net("a", 2), net("b", 2), net("c+d", 1), net("eth0", 0)
    everything = (one, two, alone, merged, plain)
    assert port_names(everything, everything) == ["a:1", "a:2", "b:1", "c:1", "d:1", "eth0"]


def test_local_rank_is_the_launchers():
    assert local_rank({"SLURM_LOCALID": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "3"}) == 3
    assert local_rank({"LOCAL_RANK": "x", "SLURM_LOCALID": "2"}) == 2
    with pytest.raises(UsageError, match="--rank"):
        local_rank({})
