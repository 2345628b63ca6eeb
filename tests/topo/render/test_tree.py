# SPDX-License-Identifier: Apache-2.0
"""The tree says what a link is in people's words, and which of them are not what they could be."""

from pathlib import Path

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.render.node_links import node_links
from railgauge.topo.render.topology import Branch, TopologyFacts, branches


def lines(name: str) -> list[Branch]:
    def below(branch: Branch) -> list[Branch]:
        return [branch, *(one for part in branch.below for one in below(part))]

    machine = load_machine(name)
    inventory = MachineFacts(machine.reader)
    models = {gpu.bus_id: gpu.name for gpu in inventory.gpus if gpu.name}
    system = build_system(machine.topology)
    known = TopologyFacts(links=node_links(system, machine.topology, inventory), models=models)
    return [one for branch in branches(system, known) for one in below(branch)]


def test_links_and_devices_have_their_names():
    labels = [one.label for one in lines("@dgx-h100-nic-x8")]
    assert any(label.startswith("PCI 48 GB/s (x16 Gen5)  DEV/0-1b000") for label in labels)
    assert any("GPU0 NVIDIA H100 80GB HBM3 sm 90" in label for label in labels)
    assert any("mlx5_0 port 1 400 Gb/s GPUDirect RDMA" in label for label in labels)
    assert any("(NV18) -> NVS/0-0" in label for label in labels)
    assert any("Intel Sapphire Rapids cores 0-55,112-167" in label for label in labels)


def test_a_degraded_link_is_marked_and_no_other():
    bad = [one for one in lines("@dgx-h100-nic-x8") if one.bad]
    assert [one.label.split("<- ")[1] for one in bad] == ["runs x8 Gen5, both ends support x16 Gen5"]


def test_without_facts_the_system_alone_is_drawn():
    system = build_system(load_machine("@dgx-h100").topology)
    assert any(branch.below for branch in branches(system))
    assert not any(branch.bad for branch in branches(system))


def test_a_fault_of_nvlinks_is_marked_at_those_and_not_at_a_chip_to_chip_link(tmp_path):
    base = Path(__file__).parents[3] / "fixtures" / "gb200-tray" / "machine.toml"
    described = tmp_path / "machine.toml"
    described.write_text(f'base = "{base}"\n[facts.nvml]\ngpus.0.links.0.state = 0\n')
    (marked,) = [line for one in lines(str(described)) for line in one.label.splitlines() if "<-" in line]
    assert marked == "  NVL 681.7 GB/s (NV17) -> NVS/0-0  <- 17 of 18 NVLinks are up"
