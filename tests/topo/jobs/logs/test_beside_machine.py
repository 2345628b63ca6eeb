# SPDX-License-Identifier: Apache-2.0
"""What a log says was chosen, beside what NCCL chooses on the machine given with --from."""

import pytest
from tests.topo.jobs.logs.excerpts import init, said
from tests.topo.jobs.logs.read import read

from railgauge.topo.channels.graph import Policy
from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.logs.verdict import verdict
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.predict.search import search


def bus_ids(machine):
    return [node.id.rpartition("-")[2] for node in machine.system.nodes if node.kind is NodeKind.GPU]


def log_of(machine, *texts, ranks=None):
    """A log of all GPUs of a machine on one host, rank 0 saying the texts."""
    ids = bus_ids(machine)[:ranks]
    starts = (said("a", init(rank, len(ids), bus), rank=rank) for rank, bus in enumerate(ids))
    return read("".join(starts) + said("a", *texts))


def found(log, machine, identifier):
    return [one for one in verdict(log, machine).findings if one.id == identifier]


SLOWER = ["SHM/direct/direct", "direct shared memory", "NET/IB/0/GDRDMA", "NET/Socket/0"]


@pytest.mark.parametrize("via", SLOWER)
def test_an_edge_where_p2p_was_possible_is_named(via):
    machine = load_machine("@dgx-h100")
    end = "[send] " if via.startswith("NET") else ""
    log = log_of(machine, f"Channel 00/0 : 3[3] -> 5[5] {end}via {via}", "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC")
    (one,) = found(log, machine, "choice-differs")
    assert (one.level, one.evidence["pairs"]) == (Level.WARN, [[3, 5]])
    assert one.message.startswith("3 -> 5: ")
    assert "allows P2P (the path is NVL)" in one.message


def test_no_edge_where_p2p_is_not_possible():
    machine = load_machine("@consumer-2x5090")
    assert not found(log_of(machine, "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"), machine, "choice-differs")


def test_a_pair_of_two_hosts_with_the_same_bus_ids():
    machine = load_machine("@dgx-h100")
    ids = bus_ids(machine)
    starts = [said(f"h{rank // 8}", init(rank, 16, ids[rank % 8]), rank=rank) for rank in range(16)]
    log = read("".join(starts) + said("h0", "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA", rank=7))
    assert not found(log, machine, "choice-differs")
    within = said("h0", "Channel 00/0 : 6[6] -> 7[7] [send] via NET/IB/0/GDRDMA", rank=6)
    (one,) = found(read("".join(starts) + within), machine, "choice-differs")
    assert one.evidence["pairs"] == [[6, 7]]


def test_the_setting_that_turned_p2p_off_is_named():
    machine = load_machine("@dgx-h100")
    setting = "NCCL_P2P_DISABLE set by environment to 1."
    log = log_of(machine, setting, "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct")
    assert "the log sets NCCL_P2P_DISABLE=1" in found(log, machine, "choice-differs")[0].message


@pytest.mark.parametrize("brackets", ["bus ids", "devices"])
def test_ranks_are_found_by_the_brackets_of_connections(brackets):
    machine = load_machine("@dgx-h100")
    names = bus_ids(machine) if brackets == "bus ids" else [*map(str, range(8))]
    lines = [
        f"Channel 00 : {rank}[{names[rank]}] -> {(rank + 1) % 8}[{names[(rank + 1) % 8]}] via SHM" for rank in range(8)
    ]
    (one,) = found(read(said("a", *lines)), machine, "choice-differs")
    assert len(one.evidence["pairs"]) == 8


def test_devices_of_fewer_gpus_than_the_machine_has_are_nowhere():
    machine = load_machine("@dgx-h100")
    assert not found(read(said("a", "Channel 00 : 0[0] -> 1[1] via SHM")), machine, "choice-differs")


def test_a_ring_over_farther_paths_than_nccl_takes():
    machine = load_machine("@dgx-1v")
    near = " ".join(map(str, search(machine.system, policy=Policy.NCCL).ring.channels[0].ranks))
    far = "0 7 1 2 3 4 5 6"  # a cube mesh: no NVLink between 0 and 7
    edges = {one.subject for one in found(log_of(machine, f"Channel 00/01 :  {far}"), machine, "choice-differs")}
    assert "GPU0 -> GPU7" in edges
    assert not found(log_of(machine, f"Channel 00/01 :  {near}"), machine, "choice-differs")
    turned = " ".join((near.split() * 2)[3:11])
    assert not found(log_of(machine, f"Channel 00/01 :  {turned}"), machine, "choice-differs")


def test_a_ring_that_is_none_of_nccls():
    machine = load_machine("@dgx-h100")
    (one,) = found(log_of(machine, "Channel 00/01 :  0 2 1 3 4 6 5 7"), machine, "choice-differs")
    assert (one.level, one.subject) == (Level.INFO, "ring 0")
    assert "(GPU0 -> GPU2 -> GPU1 -> GPU3 -> " in one.message


PATTERN = "Pattern 4, crossNic {}, nChannels 1, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1"


def test_cross_nic_that_differs():
    machine = load_machine("@dgx-h100")
    text = PATTERN.format(7)
    several = "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0"
    (one,) = found(read(said("a", several, text)), machine, "choice-differs")
    assert (one.level, "crossNic 7 was chosen" in one.message) == (Level.INFO, True)
    assert not found(log_of(machine, text), machine, "choice-differs")


def test_fewer_channels_without_pattern_lines():
    machine = load_machine("@dgx-h100")
    text = "{} coll channels, 0 collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer"
    (one,) = found(log_of(machine, text.format(2)), machine, "fewer-channels")
    assert one.message.startswith("2 channels for collectives on a; NCCL finds ")
    assert not found(log_of(machine, text.format(32)), machine, "fewer-channels")
    assert not found(log_of(machine, text.format(2), ranks=4), machine, "fewer-channels")
