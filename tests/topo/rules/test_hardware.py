# SPDX-License-Identifier: Apache-2.0
"""Rules about hardware and drivers: where each fires, where it does not, and where it cannot know."""

import pytest
from tests.topo.rules.examined import case, findings, levels

from railgauge.topo.findings import Level

PORTS = """[facts.pci_config.functions]
"0000:16:00.0" = {{ size = {size}, port = 5 }}
"""
H100_NIC = "0000:18:00.0"
H100_GPU = "0000:1b:00.0"


def acs(there, control, size=4096):
    """Every switch port between GPUs and NICs with that ACS control word."""
    from railgauge.topo.rules.peers import ports_between

    lines = (f'"{port}" = {{ size = {size}, port = 6, acs = {control} }}' for port in ports_between(there))
    return "[facts.pci_config.functions]\n" + "\n".join(lines)


def groups(kind, *bus_ids):
    """An IOMMU group for each device."""
    return "[files]\n" + "".join(
        f'"/sys/kernel/iommu_groups/{number}/type" = "{kind}"\n'
        f'"/sys/kernel/iommu_groups/{number}/devices/{bus_id}" = {{ link = "/sys/bus/pci/devices/{bus_id}" }}\n'
        for number, bus_id in enumerate(bus_ids)
    )


def all_configs(there, relaxed):
    devices = [device.bus_id for device in there.inventory.rdma]
    lines = (f'"{bus_id}" = {{ size = 4096, relaxed_ordering = {relaxed} }}' for bus_id in devices)
    return "[facts.pci_config.functions]\n" + "\n".join(lines)


def test_acs_that_redirects_between_gpu_and_nic_is_found_at_each_port(tmp_path):
    plain = case(tmp_path, "dgx-h100")
    found = findings("acs-enabled", case(tmp_path, "dgx-h100", acs(plain, 0x1D)))
    assert {finding.level for finding in found} == {Level.WARN}
    assert found[0].evidence["acs_control"] == "0x001d"


@pytest.mark.parametrize(("control", "size", "level"), [(0, 4096, Level.PASS), (0x1, 4096, Level.PASS)])
def test_acs_that_redirects_nothing_passes(tmp_path, control, size, level):
    plain = case(tmp_path, "dgx-h100")
    assert levels("acs-enabled", case(tmp_path, "dgx-h100", acs(plain, control, size))) == {level}


def test_acs_with_translated_requests_going_straight_is_no_fault(tmp_path):
    plain = case(tmp_path, "dgx-h100")
    assert levels("acs-enabled", case(tmp_path, "dgx-h100", acs(plain, 0x5D))) == {Level.INFO}


@pytest.mark.parametrize(
    ("kind", "says"), [("own", "on when the kernel started"), ("one", "off when the kernel started"), ("", "do not")]
)
def test_without_root_acs_is_unknown_and_the_groups_tell_what_was(tmp_path, kind, says):
    pair = ("0000:18:00.0", H100_GPU)
    files = {"own": groups("identity", *pair), "one": groups("identity", pair[0]), "": ""}[kind]
    if kind == "one":
        files += f'"/sys/kernel/iommu_groups/0/devices/{pair[1]}" = {{ link = "/sys/bus/pci/devices/{pair[1]}" }}\n'
    found = findings("acs-enabled", case(tmp_path, "dgx-h100", files))
    assert [finding.level for finding in found] == [Level.UNKNOWN]
    assert says in found[0].message


def test_a_guest_does_not_know_of_acs(tmp_path):
    found = findings("acs-enabled", case(tmp_path, "vm-flat"))
    assert [finding.level for finding in found] == [Level.UNKNOWN]
    assert "guest" in found[0].message


@pytest.mark.parametrize(
    ("fixture", "changes", "level"),
    [
        ("dgx-h100", groups("DMA-FQ", H100_GPU, H100_NIC), Level.WARN),
        ("dgx-h100", groups("DMA", H100_GPU, H100_NIC), Level.WARN),
        ("dgx-h100", groups("identity", H100_GPU, H100_NIC), Level.PASS),
        ("dgx-h100", '[files]\n"/sys/kernel/iommu_groups/.seen" = "0"\n', Level.PASS),
        ("dgx-h100", "", Level.UNKNOWN),
        ("gb200-tray", groups("DMA-FQ", "0008:01:00.0"), Level.INFO),
    ],
)
def test_translation_by_the_iommu(tmp_path, fixture, changes, level):
    assert levels("iommu-translating", case(tmp_path, fixture, changes)) == {level}


def test_translation_costs_nothing_where_gpus_have_no_peer_access(tmp_path):
    plain = case(tmp_path, "consumer-2x5090")
    there = case(tmp_path, "consumer-2x5090", groups("DMA-FQ", *(gpu.bus_id for gpu in plain.inventory.gpus)))
    assert levels("iommu-translating", there) == {Level.INFO}


def test_one_gpu_has_nobody_to_send_to(tmp_path):
    assert not findings("iommu-translating", case(tmp_path, "laptop", groups("DMA-FQ", "0000:00:14.3")))


@pytest.mark.parametrize(("relaxed", "level"), [(0, Level.WARN), (1, Level.PASS)])
def test_relaxed_ordering_of_a_nic(tmp_path, relaxed, level):
    plain = case(tmp_path, "hgx-h100-8nic")
    there = case(tmp_path, "hgx-h100-8nic", all_configs(plain, relaxed))
    assert levels("relaxed-ordering-off", there) == {level}


def test_relaxed_ordering_of_a_guests_nic_is_for_the_host_to_tell(tmp_path):
    plain = case(tmp_path, "vm-flat")
    assert levels("relaxed-ordering-off", case(tmp_path, "vm-flat", all_configs(plain, 0))) == {Level.UNKNOWN}


def test_a_setting_can_forbid_relaxed_ordering(tmp_path):
    setting = '[facts.settings]\nenvironment = { NCCL_IB_PCI_RELAXED_ORDERING = "off" }\nfiles = []\n'
    assert Level.WARN in levels("relaxed-ordering-off", case(tmp_path, "dgx-h100", setting))


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ("gpus.0.fabric = { state = 2, status = 0, clique = 0 }", Level.FAIL),
        ("gpus.0.fabric = { state = 1, status = 0, clique = 0 }", Level.FAIL),
        ("gpus.0.fabric = { state = 3, status = 999, clique = 0 }", Level.FAIL),
        ("", Level.UNKNOWN),
    ],
)
def test_fabric_of_a_board_with_nvswitches(tmp_path, changes, level):
    there = case(tmp_path, "dgx-h100", f"[facts.nvml]\n{changes}\n")
    assert level in levels("fabric-not-ready", there)


def test_a_fabric_that_took_every_gpu_in_passes(tmp_path):
    ready = "".join(f"gpus.{i}.fabric = {{ state = 3, status = 0, clique = 0 }}\n" for i in range(8))
    assert levels("fabric-not-ready", case(tmp_path, "dgx-h100", f"[facts.nvml]\n{ready}")) == {Level.PASS}


def test_cuda_that_waits_for_the_fabric_manager(tmp_path):
    there = case(tmp_path, "dgx-a100", '[facts.cuda]\nerror = "CUDA: cuInit failed with status 802"\n')
    assert Level.FAIL in levels("fabric-not-ready", there)


@pytest.mark.parametrize(
    ("files", "level"),
    [
        ('"/proc/devices" = "511 nvidia-caps-imex-channels"', Level.WARN),
        ('"/proc/devices" = "195 nvidia"', Level.WARN),
        ('"/dev/nvidia-caps-imex-channels/channel0" = ""\n"/proc/devices" = "511 x"', Level.PASS),
        ("", Level.UNKNOWN),
    ],
)
def test_imex_channels_of_a_rack(tmp_path, files, level):
    assert levels("imex-missing", case(tmp_path, "gb200-tray", f"[files]\n{files}\n")) == {level}


def test_imex_does_not_concern_a_board_of_its_own(tmp_path):
    assert not findings("imex-missing", case(tmp_path, "dgx-h100"))


@pytest.mark.parametrize(
    ("fixture", "changes", "levels_there"),
    [
        ("dgx-h100", '[facts.nvml]\nerror = "NVML: Driver/library version mismatch"\n', {Level.FAIL}),
        ("dgx-h100", '[facts.nvml]\ndriver = "470.1.2"\n', {Level.FAIL}),
        ("dgx-h100", "", {Level.PASS}),
        (
            "dgx-h100",
            '[files]\n"/proc/driver/nvidia/version" = false\n"/sys/module/nvidia/version" = false\n',
            {Level.UNKNOWN},
        ),
        (
            "dgx-h100",
            '[files]\n"/usr/lib64/libcuda.so.470.1.2" = ""\n'
            '"/usr/lib64/libcuda.so.1" = { link = "/usr/lib64/libcuda.so.470.1.2" }\n',
            {Level.INFO},
        ),
        (
            "dgx-h100",
            '[files]\n"/usr/lib64/libcuda.so.470.1.2" = ""\n'
            '"/usr/lib64/libcuda.so.1" = { link = "/usr/lib64/libcuda.so.470.1.2" }\n'
            '[facts.cuda]\nerror = "CUDA: cuInit failed with status 999"\n',
            {Level.FAIL},
        ),
    ],
)
def test_releases_of_the_driver(tmp_path, fixture, changes, levels_there):
    assert levels("driver-mismatch", case(tmp_path, fixture, changes)) == levels_there


@pytest.mark.parametrize(("mig", "level"), [(1, Level.WARN), (0, Level.PASS)])
def test_mig(tmp_path, mig, level):
    assert levels("mig-enabled", case(tmp_path, "dgx-h100", f"[facts.nvml]\ngpus.3.mig = {mig}\n")) == {level}


def test_mig_is_unknown_without_nvml(tmp_path):
    assert levels("p2p-unsupported", case(tmp_path, "dgx-h100", '[facts.nvml]\nerror = "gone"\n')) == {Level.UNKNOWN}


@pytest.mark.parametrize(
    ("fixture", "changes", "level"),
    [
        ("consumer-2x5090", "", Level.INFO),
        ("dgx-h100", "gpus.0.p2p.1 = [4, 4]", Level.WARN),
        ("dgx-h100", "", Level.PASS),
        ("vm-flat", "gpus.0.p2p.1 = [1, 1]", Level.INFO),
        ("dgx-h100", "gpus.0.p2p.1 = [0, 6]", Level.WARN),
    ],
)
def test_peer_access(tmp_path, fixture, changes, level):
    assert levels("p2p-unsupported", case(tmp_path, fixture, f"[facts.nvml]\n{changes}\n")) == {level}


def test_two_gpus_with_one_uuid(tmp_path):
    plain = case(tmp_path, "dgx-h100")
    uuid = plain.inventory.gpus[0].uuid
    there = case(tmp_path, "dgx-h100", f'[facts.nvml]\ngpus.5.uuid = "{uuid}"\n')
    found = findings("duplicate-gpu", there)
    assert [(one.level, one.subject) for one in found] == [(Level.FAIL, uuid)]
    assert found[0].evidence["indices"] == [0, 5]
    assert levels("duplicate-gpu", plain) == {Level.PASS}


@pytest.mark.parametrize(
    ("files", "level"),
    [
        ('"/proc/sys/kernel/random/boot_id" = "00000000-0000-0000-0000-000000000000"', Level.INFO),
        (
            '"/proc/sys/kernel/random/boot_id" = false\n"/proc/sys/kernel/hostname" = "localhost"',
            Level.WARN,
        ),
        ('"/proc/sys/kernel/random/boot_id" = false\n"/proc/sys/kernel/hostname" = false', Level.UNKNOWN),
        ("", Level.PASS),
    ],
)
def test_what_tells_a_host_from_others(tmp_path, files, level):
    assert levels("host-id-collision", case(tmp_path, "dgx-h100", f"[files]\n{files}\n")) == {level}


def governor(name, driver):
    folder = "/sys/devices/system/cpu/cpufreq/policy0"
    return f'[files]\n"{folder}/scaling_governor" = "{name}"\n"{folder}/scaling_driver" = "{driver}"\n'


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        (governor("performance", "intel_pstate"), Level.PASS),
        (governor("powersave", "intel_pstate"), Level.INFO),
        (governor("powersave", "acpi-cpufreq"), Level.WARN),
        (governor("schedutil", "acpi-cpufreq"), Level.INFO),
        ("", Level.UNKNOWN),
    ],
)
def test_governor(tmp_path, changes, level):
    assert levels("cpu-governor", case(tmp_path, "dgx-h100", changes)) == {level}


def test_a_process_bound_to_the_other_socket(tmp_path):
    plain = case(tmp_path, "pcie-no-switch")
    nodes = {node.id: node.cpus for node in plain.machine.topology.numa}
    there = case(tmp_path, "pcie-no-switch", f"[facts.affinity]\ncpus = {list(nodes[1])}\n")
    found = findings("numa-misbound", there)
    assert {one.level for one in found} == {Level.WARN}
    assert {there.inventory.function(one.subject).numa for one in found} == {0}


def test_a_process_with_some_cores_of_each_socket_is_well_bound(tmp_path):
    plain = case(tmp_path, "pcie-no-switch")
    cpus = [node.cpus[0] for node in plain.machine.topology.numa]
    assert levels("numa-misbound", case(tmp_path, "pcie-no-switch", f"[facts.affinity]\ncpus = {cpus}\n")) == {
        Level.PASS
    }


def test_a_gpu_whose_own_nic_is_gone_is_far_from_the_others(tmp_path):
    gone = '[files]\n"/sys/class/infiniband/mlx5_3" = false\n'
    found = findings("gpu-nic-far", case(tmp_path, "dgx-h100", gone))
    assert [(one.level, one.evidence["near_gpus"]) for one in found] == [(Level.WARN, 7)]


def test_a_port_that_is_down_is_the_fault_and_not_the_distance(tmp_path):
    assert levels("gpu-nic-far", case(tmp_path, "dgx-h100-port-down")) == {Level.INFO}


@pytest.mark.parametrize("fixture", ["dgx-h100", "pcie-no-switch", "a100-4gpu", "h200nvl"])
def test_gpus_alike_are_not_far(tmp_path, fixture):
    assert levels("gpu-nic-far", case(tmp_path, fixture)) <= {Level.PASS, Level.INFO}
