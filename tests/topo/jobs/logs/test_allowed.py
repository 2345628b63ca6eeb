# SPDX-License-Identifier: Apache-2.0
"""What a machine's topology allows, beside what its log says was chosen."""

from tests.topo.jobs.logs.excerpts import init, said
from tests.topo.jobs.logs.read import read

from railgauge.topo.jobs.logs.allowed import allowed
from railgauge.topo.machine import load_machine


def log_on(machine, *texts):
    """A log of two ranks on the machine's first two GPUs, rank 0 saying the texts."""
    bus_ids = [node.id.rpartition("-")[2] for node in machine_nodes(machine)[:2]]
    return read(said("a", init(0, 2, bus_ids[0])) + said("b", init(1, 2, bus_ids[1]), rank=1) + said("a", *texts))


def machine_nodes(machine):
    from railgauge.topo.nccl.graph.model import NodeKind
    from railgauge.topo.nccl.graph.system import build_system

    return [node for node in build_system(machine.topology).nodes if node.kind is NodeKind.GPU]


def test_p2p_where_shared_memory_was_chosen():
    machine = load_machine("@dgx-h100")
    (sentence,) = allowed(log_on(machine, "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"), machine)
    assert sentence.startswith("0 -> 1: P2P (the path is NVL")


def test_gdr_where_none_was_chosen():
    machine = load_machine("@dgx-h100")
    (sentence,) = allowed(log_on(machine, "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0"), machine)
    assert sentence.startswith("rank 0: GPUDirect RDMA when sending through NET/")


def test_what_a_rank_receives_by_is_its_own_and_no_matter_of_the_sender():
    machine = load_machine("@dgx-h100")
    (sentence,) = allowed(log_on(machine, "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0"), machine)
    assert sentence.startswith("rank 0: GPUDirect RDMA when receiving through NET/")
    (other,) = log_on(machine, "Channel 00/0 : 7[7] -> 1[1] [receive] via NET/IB/3").connections.kept
    assert (other.source, other.target, other.teller) == (7, 1, 1)


def test_nothing_better():
    for name, via in (("@dgx-h100", "P2P/CUMEM"), ("@dgx-a100-no-peermem", "NET/IB/0"), ("@consumer-2x5090", "SHM")):
        machine = load_machine(name)
        log = log_on(machine, f"Channel 00/0 : 0[0] -> 1[1] via {via}")
        assert allowed(log, machine) == ("nothing better than the logged choice",), name


def test_a_log_of_another_machine():
    machine = load_machine("@dgx-h100")
    log = read(said("a", init(0, 2, "fff000")))
    assert allowed(log, machine) == (
        "no GPU of the log is on that machine: the log has no bus ids, or is from another machine",
    )
