# SPDX-License-Identifier: Apache-2.0
"""Rules about hardware and drivers: where each fires, where it does not, and where it cannot know."""

import pytest
from tests.topo.findings.node.cases import IB, PCI, Link, case, findings, levels

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.peers import ports_between

H100_NIC = "0000:18:00.0"
H100_GPU = "0000:1b:00.0"
GROUPS = "/sys/kernel/iommu_groups"


def acs(control, size=4096):
    """Every switch port between GPUs and NICs of a DGX H100 with that ACS control word."""
    functions = {port: {"size": size, "port": 6, "acs": control} for port in ports_between(case("dgx-h100"))}
    return {"pci_config": {"functions": functions}}


def groups(kind, *bus_ids):
    """An IOMMU group for each device."""
    return {
        path: content
        for number, bus_id in enumerate(bus_ids)
        for path, content in (
            (f"{GROUPS}/{number}/type", kind),
            (f"{GROUPS}/{number}/devices/{bus_id}", Link(f"{PCI}/{bus_id}")),
        )
    }


def all_configs(name, relaxed):
    devices = [device.bus_id for device in case(name).facts.rdma]
    return {"pci_config": {"functions": {one: {"size": 4096, "relaxed_ordering": relaxed} for one in devices}}}


def test_acs_that_redirects_between_gpu_and_nic_is_found_at_each_port():
    found = findings("acs-enabled", case("dgx-h100", facts=acs(0x1D)))
    assert {finding.level for finding in found} == {Level.WARN}
    assert found[0].evidence["acs_control"] == "0x001d"


@pytest.mark.parametrize(("control", "said"), [(0x04, "ReqRedir"), (0x08, "CmpltRedir"), (0x10, "UpstreamFwd")])
def test_each_of_the_bits_that_redirect_is_enough(control, said):
    """PCI Express Base Specification, ACS Control Register: bits 2, 3 and 4; setpci clears them all."""
    found = findings("acs-enabled", case("dgx-h100", facts=acs(control)))
    assert {finding.level for finding in found} == {Level.WARN}
    assert all(finding.message.startswith(f"{said}: ") for finding in found)


@pytest.mark.parametrize("control", [0, 0x1, 0x2, 0x20, 0x40])
def test_acs_that_redirects_nothing_passes(control):
    assert levels("acs-enabled", case("dgx-h100", facts=acs(control))) == {Level.PASS}


def test_acs_with_translated_requests_going_straight_is_no_fault():
    assert levels("acs-enabled", case("dgx-h100", facts=acs(0x5D))) == {Level.INFO}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (groups("identity", H100_NIC, H100_GPU), "ACS was on at boot"),
        (
            groups("identity", H100_NIC) | {f"{GROUPS}/0/devices/{H100_GPU}": Link(f"{PCI}/{H100_GPU}")},
            "ACS was off at boot",
        ),
        ({}, "do not"),
    ],
)
def test_without_root_acs_is_unknown_and_the_groups_tell_what_was(files, says):
    found = findings("acs-enabled", case("dgx-h100", files=files))
    assert [finding.level for finding in found] == [Level.UNKNOWN]
    assert says in found[0].message


def test_a_guest_does_not_know_of_acs():
    found = findings("acs-enabled", case("vm-flat"))
    assert [finding.level for finding in found] == [Level.UNKNOWN]
    assert "VM" in found[0].message


@pytest.mark.parametrize(
    ("fixture", "files", "level"),
    [
        ("dgx-h100", groups("DMA-FQ", H100_GPU, H100_NIC), Level.WARN),
        ("dgx-h100", groups("DMA", H100_GPU, H100_NIC), Level.WARN),
        ("dgx-h100", groups("identity", H100_GPU, H100_NIC), Level.PASS),
        ("dgx-h100", {f"{GROUPS}/.seen": "0"}, Level.PASS),
        ("dgx-h100", {}, Level.UNKNOWN),
        ("gb200-tray", groups("DMA-FQ", "0008:01:00.0"), Level.INFO),
    ],
)
def test_translation_by_the_iommu(fixture, files, level):
    assert levels("iommu-translating", case(fixture, files=files)) == {level}


def test_translation_costs_nothing_where_gpus_have_no_peer_access():
    gpus = [gpu.bus_id for gpu in case("consumer-2x5090").facts.gpus]
    there = case("consumer-2x5090", files=groups("DMA-FQ", *gpus))
    assert levels("iommu-translating", there) == {Level.INFO}


def test_one_gpu_has_nobody_to_send_to():
    assert not findings("iommu-translating", case("laptop", files=groups("DMA-FQ", "0000:00:14.3")))


@pytest.mark.parametrize(("relaxed", "level"), [(0, Level.WARN), (1, Level.PASS)])
def test_relaxed_ordering_of_a_nic(relaxed, level):
    there = case("hgx-h100-8nic", facts=all_configs("hgx-h100-8nic", relaxed))
    assert levels("relaxed-ordering-off", there) == {level}


def test_relaxed_ordering_of_a_guests_nic_is_for_the_host_to_tell():
    assert levels("relaxed-ordering-off", case("vm-flat", facts=all_configs("vm-flat", 0))) == {Level.UNKNOWN}


def test_a_setting_can_forbid_relaxed_ordering():
    there = case("dgx-h100", settings={"NCCL_IB_PCI_RELAXED_ORDERING": "off"})
    assert Level.WARN in levels("relaxed-ordering-off", there)


def fabric(state, status=0):
    return {"state": state, "status": status, "clique": 0}


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        ({"nvml.gpus.0.fabric": fabric(2)}, Level.FAIL),
        ({"nvml.gpus.0.fabric": fabric(1)}, Level.FAIL),
        ({"nvml.gpus.0.fabric": fabric(3, status=999)}, Level.FAIL),
        ({}, Level.UNKNOWN),
    ],
)
def test_fabric_of_a_board_with_nvswitches(facts, level):
    assert level in levels("fabric-not-ready", case("dgx-h100", facts=facts))


def test_a_fabric_that_took_every_gpu_in_passes():
    ready = {f"nvml.gpus.{i}.fabric": fabric(3) for i in range(8)}
    assert levels("fabric-not-ready", case("dgx-h100", facts=ready)) == {Level.PASS}


def test_cuda_that_waits_for_the_fabric_manager():
    there = case("dgx-a100", facts={"cuda.error": "CUDA: cuInit failed with status 802"})
    assert Level.FAIL in levels("fabric-not-ready", there)


@pytest.mark.parametrize(
    ("files", "level"),
    [
        ({"/proc/devices": "511 nvidia-caps-imex-channels"}, Level.WARN),
        ({"/proc/devices": "195 nvidia"}, Level.WARN),
        ({"/dev/nvidia-caps-imex-channels/channel0": "", "/proc/devices": "511 x"}, Level.PASS),
        ({}, Level.UNKNOWN),
    ],
)
def test_imex_channels_of_a_rack(files, level):
    assert levels("imex-missing", case("gb200-tray", files=files)) == {level}


def test_imex_does_not_concern_a_board_of_its_own():
    assert not findings("imex-missing", case("dgx-h100"))


OLD_LIBRARY = {
    "/usr/lib64/libcuda.so.470.1.2": "",
    "/usr/lib64/libcuda.so.1": Link("/usr/lib64/libcuda.so.470.1.2"),
}


@pytest.mark.parametrize(
    ("files", "facts", "level"),
    [
        ({}, {"nvml.error": "NVML: Driver/library version mismatch"}, Level.FAIL),
        ({}, {"nvml.driver": "470.1.2"}, Level.FAIL),
        ({}, {}, Level.PASS),
        ({"/proc/driver/nvidia/version": None, "/sys/module/nvidia/version": None}, {}, Level.UNKNOWN),
        (OLD_LIBRARY, {}, Level.INFO),
        (OLD_LIBRARY, {"cuda.error": "CUDA: cuInit failed with status 999"}, Level.FAIL),
    ],
)
def test_releases_of_the_driver(files, facts, level):
    assert levels("driver-mismatch", case("dgx-h100", files=files, facts=facts)) == {level}


@pytest.mark.parametrize(("mig", "level"), [(1, Level.WARN), (0, Level.PASS)])
def test_mig(mig, level):
    assert levels("mig-enabled", case("dgx-h100", facts={"nvml.gpus.3.mig": mig})) == {level}


@pytest.mark.parametrize("rule", ["mig-enabled", "p2p-unsupported"])
def test_what_nvml_would_tell_is_unknown_without_it(rule):
    assert levels(rule, case("dgx-h100", facts={"nvml": {"error": "gone"}})) == {Level.UNKNOWN}


@pytest.mark.parametrize(
    ("fixture", "facts", "level"),
    [
        ("consumer-2x5090", {}, Level.INFO),
        ("dgx-h100", {"nvml.gpus.0.p2p.1": [4, 4]}, Level.WARN),
        ("dgx-h100", {}, Level.PASS),
        ("vm-flat", {"nvml.gpus.0.p2p.1": [1, 1]}, Level.INFO),
        ("dgx-h100", {"nvml.gpus.0.p2p.1": [0, 6]}, Level.WARN),
    ],
)
def test_peer_access(fixture, facts, level):
    assert levels("p2p-unsupported", case(fixture, facts=facts)) == {level}


def test_peer_access_that_nvml_did_not_tell_of_one_gpu_is_unknown_and_no_pass():
    [found] = findings("p2p-unsupported", case("dgx-h100", facts={"nvml.gpus.2.p2p": None}))
    assert (found.level, found.evidence["pairs"]) == (Level.UNKNOWN, [f"GPU2-GPU{other}" for other in range(3, 8)])


def test_peer_access_is_known_from_the_first_gpu_of_each_pair():
    assert levels("p2p-unsupported", case("dgx-h100", facts={"nvml.gpus.7.p2p": None})) == {Level.PASS}


def test_two_gpus_with_one_uuid():
    plain = case("dgx-h100")
    uuid = plain.facts.gpus[0].uuid
    found = findings("duplicate-gpu", case("dgx-h100", facts={"nvml.gpus.5.uuid": uuid}))
    assert [(one.level, one.subject) for one in found] == [(Level.FAIL, uuid)]
    assert found[0].evidence["indices"] == [0, 5]
    assert levels("duplicate-gpu", plain) == {Level.PASS}


BOOT_ID, HOSTNAME = "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/hostname"


@pytest.mark.parametrize(
    ("files", "level"),
    [
        ({BOOT_ID: "00000000-0000-0000-0000-000000000000"}, Level.INFO),
        ({BOOT_ID: None, HOSTNAME: "localhost"}, Level.WARN),
        ({BOOT_ID: None, HOSTNAME: None}, Level.UNKNOWN),
        ({}, Level.PASS),
    ],
)
def test_what_tells_a_host_from_others(files, level):
    assert levels("host-id-collision", case("dgx-h100", files=files)) == {level}


def governor(name, driver):
    folder = "/sys/devices/system/cpu/cpufreq/policy0"
    return {f"{folder}/scaling_governor": name, f"{folder}/scaling_driver": driver}


@pytest.mark.parametrize(
    ("files", "level"),
    [
        (governor("performance", "intel_pstate"), Level.PASS),
        (governor("powersave", "intel_pstate"), Level.INFO),
        (governor("powersave", "acpi-cpufreq"), Level.WARN),
        (governor("schedutil", "acpi-cpufreq"), Level.INFO),
        ({}, Level.UNKNOWN),
    ],
)
def test_governor(files, level):
    assert levels("cpu-governor", case("dgx-h100", files=files)) == {level}


def test_a_process_bound_to_the_other_socket():
    nodes = {node.id: node.cpus for node in case("pcie-no-switch").topology.numa}
    there = case("pcie-no-switch", facts={"affinity.cpus": list(nodes[1])})
    found = findings("numa-misbound", there)
    assert {one.level for one in found} == {Level.WARN}
    assert {there.facts.function(one.subject).numa for one in found} == {0}


def test_a_process_with_some_cores_of_each_socket_is_well_bound():
    cpus = [node.cpus[0] for node in case("pcie-no-switch").topology.numa]
    assert levels("numa-misbound", case("pcie-no-switch", facts={"affinity.cpus": cpus})) == {Level.PASS}


def test_a_gpu_whose_own_nic_is_gone_is_far_from_the_others():
    found = findings("gpu-nic-far", case("dgx-h100", files={f"{IB}/mlx5_3": None}))
    assert [(one.level, one.evidence["near_gpus"]) for one in found] == [(Level.WARN, 7)]


def test_gpus_are_far_where_more_than_half_have_a_nic_of_their_own():
    gone = {f"{IB}/mlx5_{number}": None for number in (0, 3, 4, 5)}
    assert Level.WARN not in levels("gpu-nic-far", case("dgx-h100", files=gone))
    assert Level.INFO not in levels("gpu-nic-far", case("dgx-h100", files=gone))
    del gone[f"{IB}/mlx5_5"]
    found = findings("gpu-nic-far", case("dgx-h100", files=gone))
    assert [one.evidence["near_gpus"] for one in found] == [5] * 3


def test_a_port_that_is_down_is_the_fault_and_not_the_distance():
    assert levels("gpu-nic-far", case("dgx-h100-port-down")) == {Level.INFO}


@pytest.mark.parametrize("fixture", ["dgx-h100", "pcie-no-switch", "a100-4gpu", "h200nvl"])
def test_gpus_alike_are_not_far(fixture):
    assert levels("gpu-nic-far", case(fixture)) <= {Level.PASS, Level.INFO}


def test_what_narrow_links_cost_is_forecast_for_each():
    rails = [device for device in case("dgx-h100").facts.rdma if device.name in {f"mlx5_{n}" for n in (0, 3, 4, 5, 6)}]
    narrow = {f"{PCI}/{device.bus_id}/current_link_width": "8" for device in rails}
    found = findings("pcie-link-degraded", case("dgx-h100", files=narrow))
    assert len(found) == 5
    assert all("busbw" in one.effect for one in found)
