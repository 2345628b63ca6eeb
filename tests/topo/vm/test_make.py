# SPDX-License-Identifier: Apache-2.0
"""The file of a guest: lint has nothing against it, and over the guest NCCL sees the host's switches and sockets."""

import re

import pytest
from tests.topo.vm.synthetic_vms import CX7_VF, described, h100_guest, node_guids, sriov_host, strangers, vfio_host

from railgauge.topo.errors import InputError
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.topology_file.rules import lint
from railgauge.topo.machine import Machine, inspected, load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.values.cpuset import from_mask
from railgauge.topo.vm.make import make
from railgauge.topo.vm.remarks import remarks
from railgauge.topo.vm.trial import faults, reach, tried
from railgauge.topo.xml import topology_file

SOCKETS = '0 = "0-95"\n1 = "96-191"'


@pytest.fixture(scope="module")
def dgx():
    return load_machine("@dgx-h100")


def guest_of(folder, *arguments, **facts):
    return described(folder, "guest", h100_guest(*arguments, **facts))


def disputed(made, guest):
    """What the linter has against the file, beside its guest too."""
    beside = lint(inspected(made.text.encode(), "made", guest))
    return (*faults(made), *(one for one in beside if one.level in (Level.WARN, Level.FAIL)))


def elements(made, name):
    return [element for element in topology_file.loads(made.text).root.walk() if element.name == name]


def cpu_of(made, bus_id):
    return next(
        cpu.get("numaid") for cpu in elements(made, "cpu") if any(pci.get("busid") == bus_id for pci in cpu.walk())
    )


def kind(topology, gpu, nic):
    system = build_system(topology)
    ends = {f"GPU{one.dev}": one.id for one in system.gpus} | {one.name: one.id for one in system.nets}
    return paths(system).get(ends[gpu], ends[nic]).type


@pytest.mark.parametrize("host", ["@dgx-h100", "@hgx-h100-8nic"])
def test_a_flat_guest_sees_switches_and_sockets_with_the_file(tmp_path, host):
    there, guest = load_machine(host), guest_of(tmp_path)
    made = make(there, guest)
    assert disputed(made, guest) == ()
    after = tried(made, guest.reader)
    assert (dict(reach(guest.topology)), dict(reach(after))) == ({"PHB": 64}, {"PIX": 8, "PXN": 56})
    assert kind(after, "GPU3", "mlx5_3") == "PIX"
    assert [cpu_of(made, f"0000:{bus}:00.0") for bus in ("05", "08", "09", "0c")] == ["0", "0", "1", "1"]


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-2", "pcie-switch", "gb200-tray", "power9-ac922"])
def test_a_machine_that_is_its_own_guest_sees_what_it_saw(name):
    machine = load_machine(f"@{name}")
    made = make(machine, machine)
    assert disputed(made, machine) == ()
    assert all_paths(tried(made, machine.reader)) == all_paths(machine.topology)


def all_paths(topology):
    system = build_system(topology)
    table = paths(system)
    ends = [*system.gpus, *system.nets]
    return {(one.id, other.id): table.get(one.id, other.id).type for one in ends for other in ends}


def test_a_host_that_has_passed_its_devices_on_knows_them_by_their_ids(tmp_path):
    host = described(tmp_path, "host", vfio_host())
    guest = guest_of(tmp_path)
    made = make(host, guest)
    assert disputed(made, guest) == ()
    assert [match.guess for match in made.matches] == [True] * 16
    assert not any("0000:29:00" in match.host.bus_id for match in made.matches)
    assert dict(reach(tried(made, guest.reader))) == {"PIX": 8, "PXN": 56}


def test_links_and_cpus_are_the_hosts_and_the_rest_is_left_to_nccl(tmp_path, dgx):
    made = make(dgx, guest_of(tmp_path))
    assert not any(elements(made, name) for name in ("gpu", "nic", "net", "nvlink"))
    assert {(pci.get("link_speed"), pci.get("link_width")) for pci in elements(made, "pci")} == {
        ("32.0 GT/s PCIe", "16")  # where the guest's emulated ports are 16 GT/s x32
    }
    assert [dict(cpu.attributes) for cpu in elements(made, "cpu")] == [
        {"numaid": node, "arch": "x86_64", "vendor": "GenuineIntel", "familyid": "6", "modelid": "143"} for node in "01"
    ]


def test_what_identifies_a_nic_puts_it_where_it_is(tmp_path, dgx):
    guest = guest_of(tmp_path, node_guids({"mlx5_0": "dc", "mlx5_7": "18"}))
    made = make(dgx, guest)
    assert [cpu_of(made, bus_id) for bus_id in ("0000:0d:00.0", "0000:14:00.0")] == ["1", "0"]
    after = tried(made, guest.reader)
    assert (kind(after, "GPU7", "mlx5_0"), kind(after, "GPU0", "mlx5_7")) == ("PIX", "PIX")
    assert {match.by for match in made.matches if match.guest.names[0] in ("mlx5_0", "mlx5_7")} == {"node GUID"}


def test_a_guess_is_told(tmp_path, dgx):
    guest = guest_of(tmp_path, strangers())
    told = [line for line in remarks(make(dgx, guest), dgx, guest) if line.startswith("WARN")]
    assert len(told) == 1
    assert re.search("GPU0, .*mlx5_7: .* a guess: correct", told[0])


def test_what_has_no_place_is_named(tmp_path, dgx):
    guest = guest_of(tmp_path)
    lines = list(remarks(make(dgx, guest), dgx, guest))
    assert any("0000:01:00.0) 1af4:1041 was not found on the host" in line for line in lines)
    assert any(line.startswith("on the host only: NIC mlx5_1 (0000:29:00.0)") for line in lines)


def test_gpus_of_another_model_are_doubted(dgx):
    """The made-up UUIDs of the two machines are equal."""
    guest = load_machine("@vm-flat")
    told = [line for line in remarks(make(dgx, guest), dgx, guest) if "is it the host of this VM?" in line]
    assert told[0].startswith("WARN: GPU0, GPU1, ")
    assert "10de:2335 in the VM, 10de:2330 on the host" in told[0]


def test_strangers_are_refused(dgx):
    with pytest.raises(InputError, match="no device of the VM was found on the host"):
        make(dgx, load_machine("@h200x4"))


def test_a_recorded_guest_is_placed_by_hand(dgx):
    guest = load_machine("@h200x4")
    made = make(dgx, guest, [f"GPU{number}={bus}:00.0" for number, bus in enumerate(("1b", "43", "9d", "c3"))])
    assert disputed(made, guest) == ()
    numa = {pci.get("busid"): cpu.get("numaid") for cpu in tried(made, guest.reader).cpus for pci in cpu.walk()}
    assert [numa[f"0000:00:0{slot}.0"] for slot in (6, 7, 8, 9)] == ["0", "0", "1", "1"]


def test_a_bus_id_that_the_guest_has_too_is_moved_to_another_domain(tmp_path):
    host = load_machine("@hgx-h100-8nic")
    guest = described(tmp_path, "guest", h100_guest().replace("0d:00.0", "16:00.0"))
    made = make(host, guest, ["16:00.0=18:00.0"])
    ids = [pci.get("busid") for pci in elements(made, "pci")]
    assert {"0000:16:00.0", "ffff:16:00.0"} <= set(ids)
    assert len(ids) == len(set(ids))
    assert disputed(made, guest) == ()
    assert kind(tried(made, guest.reader), "GPU0", "mlx5_7") == "PIX"  # the last of the guest's bus ids


def test_virtual_functions_get_the_place_and_the_link_of_their_physical_ones(tmp_path):
    host = described(tmp_path, "host", sriov_host())
    guest = guest_of(tmp_path, nic=CX7_VF)
    made = make(host, guest)
    assert disputed(made, guest) == ()
    assert dict(reach(tried(made, guest.reader))) == {"PIX": 8, "PXN": 56}
    leaf = next(pci for pci in elements(made, "pci") if pci.get("busid") == "0000:0d:00.0")
    assert (leaf.get("device"), leaf.get("link_speed")) == ("0x101e", "32.0 GT/s PCIe")


def test_a_nic_that_nccl_looks_for_elsewhere_is_named(tmp_path, dgx):
    """NCCL's IB plugin takes slot 0a of bus 0d for slot 00, which is not there."""
    guest = described(tmp_path, "guest", h100_guest().replace("00:02.4 0d:00.0", "00:02.4 0d:0a.0"))
    made = make(dgx, guest)
    assert [net.get("name") for net in elements(made, "net")] == ["mlx5_0"]
    assert disputed(made, guest) == ()
    assert kind(tried(made, guest.reader), "GPU0", "mlx5_0") == "PIX"


def test_a_guest_with_sockets_of_its_own_keeps_them(tmp_path, dgx):
    nodes = {f"{bus:02x}": int(bus in range(9, 13) or bus >= 17) for bus in range(5, 21)}
    placed = (f'"/sys/bus/pci/devices/0000:{bus}:00.0/numa_node" = "{node}"\n' for bus, node in nodes.items())
    guest = guest_of(tmp_path, "[files]\n" + "".join(placed), numa=SOCKETS)
    made = make(dgx, guest)
    assert disputed(made, guest) == ()
    masks = [from_mask(cpu.get("affinity")) for cpu in tried(made, guest.reader).cpus]
    assert masks == [tuple(range(96)), tuple(range(96, 192))]


@pytest.mark.parametrize(("cpu_map", "bound"), [([], {None}), (["0=96-191", "1=0-95"], {"1", "0"})])
def test_ranks_are_bound_only_where_it_is_known_to_what(tmp_path, dgx, cpu_map, bound):
    guest = guest_of(tmp_path, numa=SOCKETS)
    made = make(dgx, guest, cpu_map=cpu_map)
    assert disputed(made, guest) == ()
    found = tried(made, guest.reader).cpus
    assert {cpu.get("affinity") and cpu.get("numaid") for cpu in found} == bound
    assert any("--cpu-map" in line for line in remarks(made, dgx, guest)) is not bool(cpu_map)


def test_masks_finer_than_the_guests_one_node_are_no_fault(tmp_path, dgx):
    guest = guest_of(tmp_path)
    made = make(dgx, guest, cpu_map=["0=0-95", "1=96-191"])
    assert disputed(made, guest) == ()
    assert all(cpu.get("affinity") for cpu in elements(made, "cpu"))


def test_topology_files_stand_for_host_and_guest(tmp_path, dgx):
    guest = guest_of(tmp_path)
    file = Machine(topology=guest.topology)
    made = make(Machine(topology=dgx.topology), file)
    assert disputed(made, guest) == ()
    assert dict(reach(tried(made, guest.reader))) == {"PIX": 8, "PXN": 56}
    switches = {pci.get("busid")[:4] for pci in elements(made, "pci") if pci.get("class") == "0x060400"}
    assert switches == {"ffff"}  # a file does not tell all functions of the guest


def test_a_file_of_several_hosts_is_neither(tmp_path, dgx):
    text = topology_file.dumps(dgx.topology)
    two = text.replace('numaid="1"', 'numaid="0"').replace("host_hash=", 'host_hash="0x7" was=', 1)
    with pytest.raises(InputError, match="several hosts: give only the host"):
        make(Machine(topology=topology_file.loads(two)), guest_of(tmp_path))
