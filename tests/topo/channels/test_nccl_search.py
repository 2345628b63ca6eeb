# SPDX-License-Identifier: Apache-2.0
"""`--policy nccl` answers what NCCL does: its recorded graphs, channel by channel, and the settings that steer it."""

import re
from pathlib import Path

import pytest
from tests import golden_answers

from railgauge.topo.channels import graph_file
from railgauge.topo.channels.graph import Policy
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.merged_nics import merge_nics
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.settings.steering import read_steering
from railgauge.topo.predict.search import search
from railgauge.topo.xml import topology_file

DUMPS = Path(__file__).parent / "nccl_h200"


def pytest_generate_tests(metafunc):
    if "initial" in metafunc.fixturenames:
        initials = sorted({(path.parent, path.name[:6]) for path in golden_answers.files(metafunc.config)})
        names = [f"{folder.parent.name}-{initial}" for folder, initial in initials]
        metafunc.parametrize(("folder", "initial"), initials, ids=names)


def test_graphs_are_those_of_nccl_to_the_channel(folder, initial):
    wrong = []
    for path in (path for path in sorted(folder.glob("*.json")) if path.name[:6] == initial):
        answer = golden_answers.read(path)
        if names_a_nic_twice(answer["topo"]):
            continue  # NCCL makes two NICs of one number there; we make one with two ways to it
        topology = topology_file.loads(answer["topo"])
        if "--merge-nics" in answer["options"]:
            topology = merge_nics(topology)
        system = build_system(topology)
        for mode, nodes in (("intra", 1), ("inter", 2)):
            if answer[mode]["ok"]:
                p2p = "--no-nvml-p2p" not in answer["options"]
                graphs = search(system, nodes=nodes, policy=Policy.NCCL, p2p=p2p)
                wrong += [f"{path.stem} {mode}: {line}" for line in differences(graphs, answer[mode]["graphs"])]
    assert wrong == []


def names_a_nic_twice(text):
    numbers = [
        (host, dev)
        for host, part in enumerate(text.split("host_hash="))
        for dev in re.findall(r'<net [^>]*\bdev="(\d+)"', part)
    ]
    return "host_hash=" not in text and len(set(numbers)) < len(numbers)


def differences(graphs, wanted):
    for name, graph in (("ring", graphs.ring), ("tree", graphs.tree)):
        for theirs, ours in golden_answers.FIELDS.items():
            want, got = wanted[name][theirs], getattr(graph, ours)
            if got != (want if isinstance(want, str) else pytest.approx(want, abs=0.001)):
                yield f"{name}.{ours} is {got}, NCCL {want}"
        channels = [(list(channel.ranks), list(channel.nets)) for channel in graph.channels]
        if channels != [(c["ranks"], [int(net, 0) for net in c.get("nets", [])]) for c in wanted[name]["channels"]]:
            yield f"{name} has other channels"


@pytest.mark.parametrize("count", ["two", "four"])
@pytest.mark.parametrize(("suffix", "settings"), [("", {}), ("-no-p2p", {"NCCL_P2P_DISABLE": "1"})])
def test_h200_graphs_are_nccls_own_dump(count, suffix, settings):
    text = topology_file.dumps(load_machine("@h200x4").topology)
    if count == "two":
        text = re.sub(r' *<pci busid="0000:00:0[89].0".*?</pci>\n', "", text, flags=re.DOTALL)
    system = build_system(topology_file.loads(text))
    graphs = search(system, policy=Policy.NCCL, steering=read_steering(settings))
    assert graph_file.dumps(graphs, system) == (DUMPS / f"{count}-gpus{suffix}.xml").read_text()


def graphs_of(name, **settings):
    system = build_system(load_machine(name, environment={}).topology)
    return search(system, nodes=2, policy=Policy.NCCL, steering=read_steering(settings))


def crosses(graph):
    return any(channel.nets[0] != channel.nets[-1] for channel in graph.channels)


def test_cross_nic_is_steered():
    assert crosses(graphs_of("@dgx-h100").ring)
    assert not crosses(graphs_of("@dgx-h100", NCCL_CROSS_NIC="0").ring)
    assert not crosses(graphs_of("@dgx-a100").ring)
    assert crosses(graphs_of("@dgx-a100", NCCL_CROSS_NIC="1").ring)


def test_pxn_off_changes_what_reaches_the_nics():
    with_pxn, without = graphs_of("@dgx-h100"), graphs_of("@dgx-h100", NCCL_PXN_DISABLE="1")
    assert without.ring.type_inter != "PXN"
    assert without.ring.total(2) <= with_pxn.ring.total(2)


def test_gdr_off_sends_everything_through_the_cpus():
    ring = graphs_of("@dgx-h100", NCCL_NET_GDR_LEVEL="LOC").ring
    assert ring.type_inter in ("PHB", "SYS")
    assert ring.total(2) < graphs_of("@dgx-h100").ring.total(2)


def test_as_many_trees_as_rings():
    for name in ("@h200x4", "@dgx-h100"):
        graphs = graphs_of(name)
        assert len(graphs.tree.channels) == len(graphs.ring.channels)


def test_what_all_nvlinks_of_a_gpu_carry_is_enough():
    """HGX H800, 8 NVLinks a GPU: NCCL takes 8 channels at 22 GB/s, more than 8 x 20; 9 at 20 it does not look for."""
    text = topology_file.dumps(load_machine("@dgx-h100", environment={}).topology)
    fewer = re.sub(r'(<nvlink target="[^"]*" )count="\d+"', r'\1count="2"', text)
    graphs = search(build_system(topology_file.loads(fewer)), nodes=2, policy=Policy.NCCL)
    assert [(len(graph.channels), graph.gb_per_s_inter) for graph in (graphs.ring, graphs.tree)] == [(8, 22.0)] * 2
