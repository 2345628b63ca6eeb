# SPDX-License-Identifier: Apache-2.0
"""A machine: limited to some GPUs, under other settings, and a topology file that stands for one."""

from railgauge.topo.facts.sources.nccl_settings import ASKED, Setting
from railgauge.topo.machine import Machine, inspected, load_machine
from railgauge.topo.xml import topology_file

NO_RDMA = (Setting(name="NCCL_IB_DISABLE", value="1", origin=ASKED),)
LOCAL = (Setting(name="NCCL_P2P_LEVEL", value="LOC", origin=ASKED),)


def test_the_facts_are_those_of_the_chosen_gpus():
    some, every = load_machine("@dgx-h100", gpus=(0, 2)), load_machine("@dgx-h100")
    assert [gpu.index for gpu in some.facts.gpus] == [0, 2]
    assert len(every.facts.pci) - len(some.facts.pci) == 6


def test_settings_change_what_follows_from_them_and_nothing_else():
    machine = load_machine("@pcie-switch")
    one, other = (gpu.id for gpu in machine.system.gpus[:2])
    assert machine.paths.peer_access(one, other).allowed
    assert machine.rdma_ports
    local, sockets = machine.under(LOCAL), machine.under(NO_RDMA)
    assert not local.paths.peer_access(one, other).allowed
    assert sockets.rdma_ports == ()
    assert sockets.settings == {"NCCL_IB_DISABLE": "1"}
    assert local.system is machine.system
    assert machine.rdma_ports
    assert machine.paths.peer_access(one, other).allowed


def test_a_topology_file_has_no_settings_and_empty_sources():
    file = Machine(topology=load_machine("@dgx-h100").topology)
    assert file.under(NO_RDMA).settings == {}
    assert (file.reader, file.facts, file.rdma_ports, file.interface_names) == (None, None, (), None)
    assert (file.sources.gpus, file.sources.rdma, file.sources.pci) == ((), (), ())
    assert not file.topo_file_unknown


def test_an_inspected_file_is_as_nccl_reads_it_beside_its_machine():
    machine = load_machine("@dgx-h100")
    text = topology_file.dumps(machine.topology).replace("<cpu ", "<odd/><cpu ", 1)
    file = inspected(text.encode(), "a.xml", machine)
    assert not list(file.topology.placed("odd"))
    assert (file.beside, file.facts, file.topo_file.content) == (machine, machine.facts, text.encode())
    assert inspected(text.encode(), "a.xml").facts is None


def test_the_file_in_force_is_beside_the_machine_without_it(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(topology_file.dumps(load_machine("@dgx-h100-port-down").topology))
    machine = load_machine("@dgx-h100", topo_file=str(path))
    file = machine.file_in_force
    assert machine.file_in_force is file
    assert file.topology.path == str(path)
    assert file.beside.topology == load_machine("@dgx-h100").topology
    assert load_machine("@dgx-h100").file_in_force is None


def test_elements_have_their_parents():
    topology = load_machine("@dgx-h100").topology
    gpu = next(topology.placed("gpu"))
    assert [one.name for one in gpu.around][:2] == ["system", "cpu"]
    assert gpu.bus_id == gpu.around[-1].get("busid")
    assert topology.elements[0].element is topology.root
