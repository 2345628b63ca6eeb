# SPDX-License-Identifier: Apache-2.0
"""Each kind of output is told by its content, and gives the records that the live reader would give."""

import pytest
from tests.topo.facts.pasted import texts

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pasted.read import read
from railgauge.topo.facts.sources.nvml import NvlinkFabric
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.machine import load_machine, recorded
from railgauge.topo.render.header import machine_header


def facts(*pasted):
    return MachineFacts(CaptureReader(read([("a.txt", text.encode()) for text in pasted])))


def machine(*pasted):
    return recorded(CaptureReader(read([("a.txt", text.encode()) for text in pasted])))


def levels(*pasted):
    found = {}
    for one in check(machine(*pasted), RULES):
        found.setdefault(one.id, set()).add(str(one.level))
    return found


@pytest.mark.parametrize("tool", texts.ALL)
def test_a_kind_is_told_by_content_in_any_surrounding(tool):
    text = texts.ALL[tool]
    wrapped = text if tool in ("hwloc",) else f"user@node:~$ some command\n\x1b[1m{text}\x1b[0m\nuser@node:~$ \n"
    assert read([("x", wrapped.encode())]).manifest["pasted"] == [tool]


@pytest.mark.parametrize("tool", texts.ALL)
def test_what_an_output_does_not_say_is_unknown_with_it_as_the_reason(tool):
    found = [one for one in check(machine(texts.ALL[tool]), RULES) if one.id in ("memlock-low", "gpu-memory-errors")]
    assert {str(one.level) for one in found} <= {"UNKNOWN"} or tool == "nvidia-smi -q"
    reader = CaptureReader(read([("x", texts.ALL[tool].encode())]))
    assert reader.facts("shared_memory") == {"error": f"/dev/shm: not in the output of {tool}"}


def test_names_of_interfaces_tell_no_other_pci_devices():
    """ibp26s0 has its bus in its name; that there are no GPUs, or that no NIC is lost, it does not say."""
    netdev = "mlx5_0 port 1 ==> ibp26s0 (Down)\nmlx5_1 port 1 ==> enp27s0f0np0 (Up)\n"
    assert "GPUs unknown, 2 NICs" in machine_header(machine(netdev), "x")
    assert levels(netdev)["nic-lost"] == {"UNKNOWN"}
    assert facts(texts.LSPCI).lists_pci


def test_lines_of_lspci_that_somebody_chose_are_not_all_devices():
    nics = "01:00.0 Network controller: Mellanox Technologies MT27500 Family [ConnectX-3]\n"
    assert "GPUs unknown, 1 NIC" in machine_header(machine(nics), "x")
    assert levels(nics)["nic-lost"] == {"UNKNOWN"}


def test_gpus_alone_tell_no_number_of_nics():
    assert "NICs unknown" in machine_header(machine(texts.SMI), "x")
    assert "NICs unknown" not in machine_header(machine(texts.SMI, texts.TOPO_M), "x")


def test_text_without_any_of_the_outputs_is_bad_input():
    with pytest.raises(InputError, match="neither a topology file, a capture nor output of nvidia-smi"):
        read([("notes.txt", b"GPU 3 looks bad\n")])


def test_one_unknown_text_among_others_is_named():
    with pytest.raises(InputError, match=r"b\.txt: neither"):
        read([("a.txt", texts.IBSTAT.encode()), ("b.txt", b"loss 2.3")])


def test_gpus_of_nvidia_smi_q():
    first, second = facts(texts.SMI_Q).gpus
    assert (first.bus_id, first.sm, first.name, first.mig) == ("0000:1b:00.0", 90, "NVIDIA H100 80GB HBM3", False)
    assert first.fabric == NvlinkFabric(state=3, status=0, clique=None, cluster=None)
    assert second.fabric == NvlinkFabric(state=2, status=None, clique=None, cluster=None)


def test_health_of_nvidia_smi_q():
    health = facts(texts.SMI_Q).gpu_health.gpus[0]
    assert health.ecc["sram_uncorrected_volatile"] == 2
    assert (health.ecc["dram_uncorrected_volatile"], health.pcie_replays, health.temperature_c) == (1, 3, 34)
    assert health.remapped_rows == {"corrected": 0, "uncorrected": 1, "pending": 1, "failed": 0}
    assert health.power_mw == {"limit": 700_000, "draw": 71_200}
    assert (health.persistence, health.compute_mode) == (True, 3)


def test_link_of_nvidia_smi_q():
    link = facts(texts.SMI_Q).function("0000:1b:00.0").link
    assert (link.gt_per_s, link.lanes, link.max_gt_per_s, link.max_lanes) == (32.0, 8, 32.0, 16)


def test_findings_of_nvidia_smi_q():
    found = levels(texts.SMI_Q)
    assert "FAIL" in found["fabric-not-ready"]
    assert found["nvlink-missing"] == {"UNKNOWN"}
    assert "FAIL" in found["gpu-row-remap"] | found["gpu-memory-errors"]


def test_gpu_without_nvlinks_among_others_fails():
    columns = [f"GPU{i}" for i in range(8)]
    rows = "\n".join(
        f"{row}\t" + "\t".join("X" if row == one else "SYS" if "GPU2" in (row, one) else "NV18" for one in columns)
        for row in columns
    )
    found = [one for one in check(machine("\t" + "\t".join(columns) + "\n" + rows), RULES) if one.level == "FAIL"]
    assert [(one.id, one.evidence["count"], one.evidence["usual"]) for one in found] == [("nvlink-missing", 0, 18)]
    assert found[0].message == "GPU2: 0 NVLinks; others of this kind have 18"


def test_nvlinks_of_pairs_are_direct():
    first, second, alone = facts(texts.TOPO_M).gpus
    assert (first.nvlinks, second.nvlinks) == (((second.bus_id, 18),), ((first.bus_id, 18),))
    assert alone.nvlinks == ()


def test_the_table_of_nvidia_smi():
    found = facts(texts.SMI)
    assert [(gpu.bus_id, gpu.sm) for gpu in found.gpus] == [("0000:1b:00.0", 90), ("0000:43:00.0", 90)]
    assert (found.gpus[0].name, found.cuda) == ("NVIDIA H100 80GB HBM3", "12.4")
    assert "PASS" in levels(texts.SMI)["compute-mode"]
    for written, level in (("E. Process", "WARN"), ("Prohibited", "FAIL")):
        assert level in levels(texts.SMI.replace("   Default |", f"{written:>10} |", 1))["compute-mode"]


def test_the_table_of_an_old_driver_has_short_bus_ids_and_no_cuda_release():
    old = texts.SMI.replace("00000000:", "0000:").replace("CUDA Version: 12.4", " " * 18)
    found = facts(old)
    assert [gpu.bus_id for gpu in found.gpus] == ["0000:1b:00.0", "0000:43:00.0"]
    assert (found.driver.nvml, found.cuda) == ("550.54.15", facts(texts.TOPO_M).cuda)


def test_colours_that_lost_their_first_character():
    coloured = texts.TOPO_M.replace("        GPU0", "\t[4mGPU0").replace("NUMA ID", "NUMA ID[0m")
    assert [gpu.index for gpu in facts(coloured).gpus] == [0, 1, 2]


def test_nvlink_states():
    found = facts(texts.NVLINK_S).gpus
    assert [[link.up for link in gpu.links] for gpu in found] == [[True, True], [True, False]]
    assert levels(texts.NVLINK_S)["nvlink-missing"] == {"WARN"}


def test_p2p_statuses():
    first, second = facts(texts.P2P).gpus
    assert (first.p2p, second.p2p) == (((1, 1, 1),), ((0, 0, 0),))


def test_lspci_places_devices_and_their_links():
    found = facts(texts.LSPCI)
    nic, gpu = found.function("0000:18:00.0"), found.function("0000:1b:00.0")
    switch = ("pci0000:15", "0000:15:01.0", "0000:16:00.0")
    assert nic.path == (*switch, "0000:17:00.0", "0000:18:00.0")
    assert gpu.path == (*switch, "0000:17:01.0", "0000:1b:00.0")
    assert (nic.link.lanes, nic.link.max_lanes, nic.driver, nic.numa) == (8, 16, "mlx5_core", 0)
    assert (nic.pci_class, nic.vendor, nic.device) == ("0x020700", "0x15b3", "0x1021")
    assert (gpu.pci_class, gpu.vendor) == ("0x030200", "0x10de")
    assert found.gpus[0].sm == 90
    root = found.pci_config["0000:15:01.0"]
    assert (root.acs, root.port, root.whole) == (0b0011101, 4, True)


def test_findings_of_lspci():
    found = levels(texts.LSPCI)
    assert found["acs-enabled"] & {"WARN", "FAIL"}
    assert found["pcie-link-degraded"] & {"WARN", "FAIL"}
    assert found["nvlink-missing"] == {"UNKNOWN"}


ROOT_PORTS = "".join(
    f"""{bus}0:03.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge
\tBus: primary={bus}0, secondary={bus}1, subordinate={bus}1, sec-latency=0
\tCapabilities: [2a0 v1] Access Control Services
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
{bus}1:00.0 VGA compatible controller: NVIDIA Corporation AD102GL [RTX 5880 Ada Generation] (rev a1)
\tKernel driver in use: nvidia
"""
    for bus in "46"
)


def test_root_ports_that_redirect_are_named_and_the_driver_is_not_blamed():
    found = levels(ROOT_PORTS)
    assert found["acs-enabled"] == {"INFO"}
    assert found["gpu-driver-fails"] == {"UNKNOWN"}
    assert "INFO" not in levels(ROOT_PORTS.replace("Redir+", "Redir-").replace("Fwd+", "Fwd-"))["acs-enabled"]


WIDTH = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n"


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        (ROOT_PORTS, False),
        (ROOT_PORTS.replace("\tKernel", f"{WIDTH}\tKernel"), False),
        (ROOT_PORTS.replace("\tBus:", f"{WIDTH}\tBus:"), True),
    ],
    ids=["no-width-is-said", "gpus-tell-theirs", "gpus-have-none"],
)
def test_a_width_that_a_paste_does_not_have_is_no_sign_of_a_virtual_machine(text, flat):
    assert ("WARN" in levels(text).get("vm-flat-topology", ())) == flat


@pytest.mark.parametrize(("control", "level"), [("ReqRedir+ CmpltRedir+", "WARN"), ("ReqRedir- CmpltRedir-", "PASS")])
def test_lines_of_acs_without_their_devices(control, level):
    line = "        ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
    text = line + line.replace("ReqRedir- CmpltRedir-", control)
    assert levels(text)["acs-enabled"] == {level}
    assert "vm-flat-topology" not in levels(text)


def test_lspci_without_bridges_does_not_place():
    text = "\n".join(line for line in texts.LSPCI.splitlines() if not line.startswith("\t") and "bridge" not in line)
    found = facts(text)
    assert not found.function("0000:1b:00.0").placed
    assert levels(text)["vm-flat-topology"] == {"UNKNOWN"}


def test_tree_of_lspci():
    found = facts(texts.LSPCI_TV)
    assert found.function("0000:44:00.1").path == (
        "pci0000:40",
        "0000:40:01.1",
        "0000:41:00.0",
        "0000:42:01.0",
        "0000:44:00.1",
    )
    assert found.function("0000:a1:00.0").path == ("pci0000:a0", "0000:a0:01.0", "0000:a1:00.0")
    assert [(gpu.bus_id, gpu.sm) for gpu in found.gpus] == [("0000:43:00.0", 80), ("0000:a1:00.0", 80)]
    assert machine(texts.LSPCI_TV).paths.wired("GPU/0-43000", "NET/0-0").type == "PIX"


def test_ports_of_ibstat():
    up, down = facts(texts.IBSTAT).rdma
    assert (up.name, up.hca_type, up.firmware, up.sys_image_guid) == (
        "mlx5_0",
        "MT4129",
        "28.39.1002",
        "946d:ae03:0090:7832",
    )
    port = up.ports[0]
    assert (port.state, port.rate_gbps, port.link_layer, port.lid, port.sm_lid) == ("ACTIVE", 400, "InfiniBand", 13, 1)
    assert (down.ports[0].state, down.ports[0].physical_state) == ("DOWN", "Polling")
    assert levels(texts.IBSTAT)["ib-port-down"] == {"FAIL"}


def test_a_small_mtu_is_named_without_the_interface():
    port = "hca_id: mlx5_6\n\tvendor_part_id:\t4119\n\t\tport:\t1\n\t\t\tstate:\tPORT_ACTIVE (4)\n"
    port += "\t\t\tactive_mtu:\t1024 (3)\n\t\t\tlink_layer:\tEthernet\n"
    assert levels(port)["mtu-mismatch"] == {"INFO"}
    assert levels(port.replace("1024 (3)", "4096 (5)"))["mtu-mismatch"] == {"UNKNOWN"}


def test_a_port_that_is_pasted_alone_says_nothing_of_others():
    alone = "CA 'qib1'\n\tCA type: InfiniPath_QLE7340\n\tNumber of ports: 2\n\tPort 2:\n\t\tState: Down\n"
    alone += "\t\tPhysical state: Polling\n\t\tLink layer: InfiniBand\n"
    (down,) = [one for one in check(machine(alone), RULES) if one.id == "ib-port-down"]
    assert (down.level, down.message.partition(": ")[2]) == (
        "FAIL",
        "no other port is known to be up: NCCL falls back to sockets",
    )


def test_ports_of_ibstatus():
    port = facts(texts.IBSTATUS).rdma[0].ports[0]
    assert (port.state, port.rate_gbps, port.width, port.speed, port.lid) == ("ACTIVE", 200, 4, "HDR", 13)


def test_ports_of_ibv_devinfo():
    found = facts(texts.DEVINFO)
    port = found.rdma[0].ports[0]
    assert (port.state, port.rate_gbps, port.link_layer, port.physical_state) == ("ACTIVE", 100, "Ethernet", "LinkUp")
    assert [(gid.index, gid.gid[-9:], gid.roce_version) for gid in port.gids] == [
        (0, "fe30:9a0d", 1),
        (3, "0a00:0007", 2),
    ]
    assert found.verbs.device("mlx5_0").port(1).active_mtu == 1024


def test_devices_that_ibv_devinfo_could_not_open_are_said():
    capture = read([("a", ("Failed to open device\n" * 2 + texts.DEVINFO).encode())])
    assert "ibv_devinfo could not open 2 further RDMA devices" in capture.manifest["assumed"][0]
    assert read([("a", texts.DEVINFO.encode())]).manifest["assumed"] == []


def test_an_active_port_whose_first_gid_is_empty_is_said():
    pod = texts.IBSTATUS.replace(texts.IBSTATUS.split("default gid:")[1].split()[0], ":".join(["0000"] * 8), 1)
    pod = pod.replace("InfiniBand\n", "Ethernet\n")
    assert read([("a", pod.encode())]).manifest["assumed"][0].startswith("GID 0 of mlx5_0:1 is empty: its network int")
    assert read([("a", pod.replace("4: ACTIVE", "1: DOWN").encode())]).manifest["assumed"] == []


def test_gids_of_show_gids_and_their_holes():
    port = facts(texts.SHOW_GIDS).rdma[0].ports[0]
    assert [(gid.index, gid.roce_version, gid.netdev) for gid in port.gids] == [(4, 1, "net1"), (7, 2, "net1")]
    assert (port.gid_table_length, port.link_layer, port.looked) == (8, "Ethernet", False)
    assert "PASS" not in levels(texts.SHOW_GIDS)["gid-table-holes"]


def test_interfaces_of_ibdev2netdev():
    first, second = facts(texts.IBDEV2NETDEV).rdma
    assert (first.bus_id, first.ports[0].netdev) == ("0000:1a:00.0", "ibs1")
    assert (second.bus_id, second.ports[0].netdev) == ("0000:1b:00.1", "enp27s0f1np1")


def test_addresses():
    found = {one.name: one for one in facts(texts.IP_ADDR).interfaces}
    assert (found["eno1"].addresses, found["eno1"].prefix, found["eno1"].mtu) == (("10.1.2.3", "fe80::1"), 24, 9000)
    assert machine(texts.IP_ADDR).interface_names == ("lo", "eno1")


def test_xid_of_a_kernel_log():
    found = facts(texts.DMESG).kernel_log
    assert [(event.code, event.device) for event in found.events] == [(79, "0000:1b:00")]


def test_hwloc():
    found = facts(texts.HWLOC)
    assert (found.host.name, found.function("0000:34:00.0").numa, found.function("0000:80:00.0").numa) == (
        "node7",
        0,
        1,
    )
    assert (found.gpus[0].bus_id, found.gpus[0].sm) == ("0000:34:00.0", 70)
    assert (found.rdma[0].bus_id, found.rdma[0].ports[0].state) == ("0000:80:00.0", "ACTIVE")
    assert [node.cpus for node in machine(texts.HWLOC).topology.numa] == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_hwloc_accepts_no_entities():
    bomb = texts.HWLOC.replace('"hwloc2.dtd">', '"hwloc2.dtd" [<!ENTITY a "b">]>')
    with pytest.raises(InputError):
        read([("x.xml", bomb.encode())])


def test_several_outputs_are_one_machine():
    found = facts(texts.LSPCI, texts.NVLINK_S.split("GPU 1")[0], texts.IBSTAT.split("CA 'mlx5_1'")[0])
    (gpu,), (nic,) = found.gpus, found.rdma
    assert (gpu.bus_id, len(gpu.links), nic.bus_id) == ("0000:1b:00.0", 2, "0000:18:00.0")
    assert found.function(gpu.bus_id).parent == "0000:17:01.0"


def test_several_names_of_load_machine(tmp_path):
    for name, text in (("smi.txt", texts.TOPO_M), ("ib.txt", texts.IBSTAT)):
        (tmp_path / name).write_text(text)
    both = load_machine([str(tmp_path / "smi.txt"), str(tmp_path / "ib.txt")])
    assert both.topology == load_machine(str(tmp_path)).topology
    assert [net.name for net in both.system.nets] == ["mlx5_0"]  # mlx5_1 is down
    assert both.system.nets[0].gdr is False


def test_the_table_of_nvidia_smi_has_a_column_of_uncorrected_errors():
    assert "gpu-memory-errors" not in {key for key, seen in levels(texts.SMI).items() if seen & {"PASS", "FAIL"}}
    faulty = texts.SMI.replace("43:00.0 Off |                    0 |", "43:00.0 Off |                    2 |")
    (found,) = [one for one in check(machine(faulty), RULES) if one.id == "gpu-memory-errors" and one.level == "FAIL"]
    assert (found.subject, found.message) == (
        "0000:43:00.0",
        "GPU1 (0000:43:00.0): 2 uncorrected MEMORY errors since the driver started",
    )


def test_devices_without_any_gid_cannot_be_used_here():
    none = "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\n---\t----\t-----\t---\nn_gids_found=0\n"
    assert "WARN" in levels(none + texts.IBV_DEVICES)["rail-unreachable"]
    assert "WARN" not in levels(texts.IBV_DEVICES).get("rail-unreachable", set())


def test_a_port_of_ethernet_is_down_when_its_interface_is():
    found = levels("hns_0 port 1 ==> bond0 (Up)\nhns_2 port 1 ==> enp125s0f2 (Down)\n")
    assert found["ib-port-down"] - {"PASS", "UNKNOWN"}
    assert not levels("mlx5_0 port 1 ==> ibp26s0 (Down)\n").get("ib-port-down", set()) - {"PASS", "UNKNOWN"}


def test_a_device_that_ibstat_lists_and_cannot_read_is_lost():
    """The tool breaks off there; what it printed before counts."""
    broken = texts.IBSTAT + "ibpanic: [1323906] main: stat of IB device 'mlx5_8' failed: No such file or directory\n"
    (lost,) = [one for one in check(machine(broken), RULES) if one.id == "nic-lost" and one.level == "FAIL"]
    assert lost.subject == "mlx5_8"
    assert "FAIL" not in levels(texts.IBSTAT)["nic-lost"]


def test_a_table_of_nics_tells_ports_and_links():
    first, second = facts(texts.NIC_TABLE).rdma
    assert [(one.name, one.bus_id, one.numa, one.ports[0].state, one.ports[0].netdev) for one in (first, second)] == [
        ("mlx5_0", "000a:11:00.0", 2, "DOWN", "ib0"),
        ("mlx5_1", "000a:11:00.1", 2, "ACTIVE", "eth1"),
    ]
    assert (second.ports[0].rate_gbps, second.ports[0].link_layer) == (100.0, "Ethernet")
    (narrow,) = [one for one in check(machine(texts.NIC_TABLE), RULES) if one.id == "pcie-link-degraded"]
    assert narrow.subject == "000a:11:00.0"


def test_a_fabric_that_is_completed_with_an_error_is_not_ready():
    assert "FAIL" not in levels(texts.SMI_Q.replace("In Progress", "Completed"))["fabric-not-ready"]
    failed = texts.SMI_Q.replace("In Progress", "Completed").replace(": Success", ": Unknown Error")
    assert "FAIL" in levels(failed)["fabric-not-ready"]
