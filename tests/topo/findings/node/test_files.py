# SPDX-License-Identifier: Apache-2.0
"""Rules that topology files, and links as sysfs and NVML tell them, set off."""

import pytest
from tests.topo.findings.node.cases import PCI, case, file_case, findings, levels
from tests.topo.findings.topology_file.topology_text import HEALTHY

from railgauge.topo.findings.finding import Level

SWITCH = "0000:16:00.0"  # the upstream port above GPU 0 and mlx5_0


def named(text):
    """A healthy machine whose settings name a topology file with that text."""
    path = "/etc/topo.xml"
    return case("dgx-h100", files={path: text} if text else {}, settings={"NCCL_TOPO_FILE": path})


@pytest.mark.parametrize(
    ("name", "old", "new", "level"),
    [
        ("nvlink-self-target", "0000:81:00.0", "0000:11:00.0", Level.FAIL),
        ("affinity-mask-wrong", "ffff0000", "0000ffff", Level.WARN),
        (
            "pcie-bridge-bogus",
            '"0000:10:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16"',
            '"0000:10:00.0" class="0x060400" link_speed="2.5 GT/s PCIe" link_width="1"',
            Level.FAIL,
        ),
    ],
)
def test_a_faulty_topology_file_in_place_of_a_machine(name, old, new, level):
    assert old in HEALTHY
    assert level in levels(name, file_case(HEALTHY.replace(old, new, 1)))
    assert levels(name, file_case(HEALTHY)) == {Level.PASS}


def test_a_file_leaves_unknown_what_links_run_at():
    def told(text):
        return [(one.level, one.subject, one.message) for one in findings("pcie-link-degraded", file_case(text))]

    unknown = "current link width unknown (topology file only)"
    old = '"0000:10:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16"'
    bridge = HEALTHY.replace(old, old.replace("32.0", "2.5").replace('"16"', '"1"'), 1)
    assert told(bridge) == [(Level.UNKNOWN, "", unknown)]
    assert told(HEALTHY) == [(Level.UNKNOWN, "", f"{unknown}; no link in the file is narrower or slower than expected")]


def test_links_that_differ_without_a_majority_are_named_with_their_device():
    ids = 'vendor="0x10de" device="0x2330" class="0x030200" link_speed="32.0 GT/s PCIe"'
    gpus = "".join(
        f'<pci busid="0000:0{n}:00.0" {ids} link_width="{lanes}"><gpu dev="{n}" sm="90" rank="{n}"/></pci>'
        for n, lanes in enumerate([8, 8, 16, 16])
    )
    file = file_case(f'<system version="1"><cpu numaid="0" arch="x86_64">{gpus}</cpu></system>')
    found = [one for one in findings("pcie-link-degraded", file) if one.subject]
    assert [one.subject for one in found] == ["0000:00:00.0", "0000:01:00.0"]
    assert {one.message.partition(":00.0 and")[0] for one in found} == {"0000:00"}


def test_a_file_that_contradicts_itself():
    twice = HEALTHY.replace('<cpu numaid="1"', '<cpu numaid="0"', 1)
    assert levels("topo-file-faulty", file_case(twice)) == {Level.FAIL}
    assert levels("topo-file-faulty", file_case(HEALTHY)) == {Level.PASS}


def test_a_named_file_of_another_machine():
    found = findings("topo-file-stale", named(HEALTHY))
    assert Level.FAIL in {finding.level for finding in found}
    assert {finding.path for finding in found} == {"/etc/topo.xml"}
    assert levels("topo-file-faulty", named(HEALTHY)) == {Level.PASS}


def test_a_named_file_that_is_no_topology():
    assert levels("topo-file-faulty", named("<nothing/>")) == {Level.FAIL}


def test_a_named_file_that_was_not_recorded():
    assert levels("topo-file-stale", named("")) == {Level.UNKNOWN}


def test_no_file_is_no_fault():
    there = case("dgx-h100", settings={})
    assert levels("topo-file-stale", there) == levels("topo-file-faulty", there) == {Level.PASS}


def test_settings_that_were_not_recorded_leave_the_file_unknown():
    there = case("dgx-h100")
    assert levels("topo-file-stale", there) == levels("topo-file-faulty", there) == {Level.UNKNOWN}


@pytest.mark.parametrize("name", ["nvlink-missing", "nvlink-self-target", "fabric-not-ready"])
def test_without_nvml_nothing_passes_that_it_would_tell(name):
    assert levels(name, case("dgx-h100", facts={"nvml": {"error": "NVML: gone"}})) == {Level.UNKNOWN}


def test_without_nvml_and_cuda_no_gpu_is_near_to_anything():
    gone = {"nvml": {"error": "NVML: gone"}, "cuda": {"error": "CUDA: gone", "gpus": []}}
    assert levels("gpu-nic-far", case("dgx-h100", facts=gone)) == {Level.UNKNOWN}


def test_a_link_that_tells_no_width_is_unknown():
    there = case("dgx-h100", files={f"{PCI}/0000:1b:00.0/current_link_width": None})
    assert levels("pcie-link-degraded", there) == {Level.UNKNOWN}


def test_a_file_does_not_tell_what_links_run_at():
    assert levels("pcie-link-degraded", file_case(HEALTHY)) == {Level.UNKNOWN}


def test_a_switch_whose_uplink_is_narrow():
    found = findings("pcie-link-degraded", case("dgx-h100", files={f"{PCI}/{SWITCH}/current_link_width": "8"}))
    assert [(one.level, one.subject, one.evidence["current"]) for one in found] == [(Level.FAIL, SWITCH, "x8")]


def test_lanes_that_a_board_shares_out_to_all_alike_are_no_fault():
    gpus = [gpu.bus_id for gpu in case("consumer-2x5090").facts.gpus]
    shared = case("consumer-2x5090", files={f"{PCI}/{bus_id}/current_link_width": "8" for bus_id in gpus})
    assert levels("pcie-link-degraded", shared) == {Level.INFO}


def test_a_gpu_at_rest_is_no_fault():
    slow = case("dgx-h100", files={f"{PCI}/0000:1b:00.0/current_link_speed": "2.5 GT/s PCIe"})
    assert levels("pcie-link-degraded", slow) == {Level.PASS}


def test_a_nic_of_a_lower_generation_is_a_fault_beside_others_at_full_speed():
    slow = {f"{PCI}/0000:18:00.0/current_link_speed": "8.0 GT/s PCIe"}
    found = findings("pcie-link-degraded", case("dgx-h100", files=slow))
    assert [(one.level, one.subject) for one in found] == [(Level.FAIL, "0000:18:00.0")]


def test_nics_that_all_run_slower_may_be_at_rest():
    nics = [nic.bus_id for nic in case("hgx-h100-8nic").facts.rdma]
    slow = case("hgx-h100-8nic", files={f"{PCI}/{nic}/current_link_speed": "8.0 GT/s PCIe" for nic in nics})
    assert levels("pcie-link-degraded", slow) == {Level.INFO}


def test_an_nvlink_that_is_down_has_a_predicted_effect():
    found = findings("nvlink-missing", case("dgx-h100-nvlink-down"))
    assert [one.level for one in found] == [Level.WARN]
    assert "busbw" in found[0].effect


def test_a_rank_without_nvlinks():
    down = {f"nvml.gpus.6.links.{i}.state": 0 for i in range(18)}
    found = findings("nvlink-missing", case("dgx-h100", facts=down))
    assert [(one.level, one.evidence["count"]) for one in found] == [(Level.FAIL, 0)]
