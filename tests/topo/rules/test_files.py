# SPDX-License-Identifier: Apache-2.0
"""Rules that topology files, and links as sysfs and NVML tell them, set off."""

import pytest
from tests.topo.lint.topology_text import HEALTHY
from tests.topo.rules.examined import case, findings, levels

from railgauge.topo.findings import Level
from railgauge.topo.machine import load_machine
from railgauge.topo.rules.case import Case

SWITCH = "0000:16:00.0"  # the upstream port above GPU 0 and mlx5_0


def file_case(folder, text):
    path = folder / "topo.xml"
    path.write_text(text)
    return Case(load_machine(str(path)))


def named(folder, text):
    """A healthy machine whose settings name a topology file with that text."""
    path = "/etc/topo.xml"
    setting = f'[facts.settings]\nenvironment = {{ NCCL_TOPO_FILE = "{path}" }}\nfiles = []\n'
    content = f"[files]\n\"{path}\" = '''{text}'''\n" if text else ""
    return case(folder, "dgx-h100", setting + content)


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
def test_a_faulty_topology_file_in_place_of_a_machine(tmp_path, name, old, new, level):
    assert old in HEALTHY
    assert level in levels(name, file_case(tmp_path, HEALTHY.replace(old, new, 1)))
    assert levels(name, file_case(tmp_path, HEALTHY)) == {Level.PASS}


def test_a_file_that_contradicts_itself(tmp_path):
    twice = HEALTHY.replace('<cpu numaid="1"', '<cpu numaid="0"', 1)
    assert levels("topo-file-faulty", file_case(tmp_path, twice)) == {Level.FAIL}
    assert levels("topo-file-faulty", file_case(tmp_path, HEALTHY)) == {Level.PASS}


def test_a_named_file_of_another_machine(tmp_path):
    found = findings("topo-file-stale", named(tmp_path, HEALTHY))
    assert Level.FAIL in {finding.level for finding in found}
    assert {finding.path for finding in found} == {"/etc/topo.xml"}
    assert levels("topo-file-faulty", named(tmp_path, HEALTHY)) == {Level.PASS}


def test_a_named_file_that_is_no_topology(tmp_path):
    assert levels("topo-file-faulty", named(tmp_path, "<nothing/>")) == {Level.FAIL}


def test_a_named_file_that_was_not_recorded(tmp_path):
    assert levels("topo-file-stale", named(tmp_path, "")) == {Level.UNKNOWN}


def test_no_file_is_no_fault(tmp_path):
    there = case(tmp_path, "dgx-h100", "[facts.settings]\nenvironment = {}\nfiles = []\n")
    assert levels("topo-file-stale", there) == levels("topo-file-faulty", there) == {Level.PASS}


def test_settings_that_were_not_recorded_leave_the_file_unknown(tmp_path):
    there = case(tmp_path, "dgx-h100")
    assert levels("topo-file-stale", there) == levels("topo-file-faulty", there) == {Level.UNKNOWN}


@pytest.mark.parametrize("name", ["nvlink-missing", "nvlink-self-target", "fabric-not-ready"])
def test_without_nvml_nothing_passes_that_it_would_tell(tmp_path, name):
    found = levels(name, case(tmp_path, "dgx-h100", '[facts]\nnvml = { error = "NVML: gone" }\n'))
    assert found == {Level.UNKNOWN}


def test_without_nvml_and_cuda_no_gpu_is_near_to_anything(tmp_path):
    gone = '[facts]\nnvml = { error = "NVML: gone" }\ncuda = { error = "CUDA: gone", gpus = [] }\n'
    assert levels("gpu-nic-far", case(tmp_path, "dgx-h100", gone)) == {Level.UNKNOWN}


def test_a_link_that_tells_no_width_is_unknown(tmp_path):
    silent = '[files]\n"/sys/bus/pci/devices/0000:1b:00.0/current_link_width" = false\n'
    assert levels("pcie-link-degraded", case(tmp_path, "dgx-h100", silent)) == {Level.UNKNOWN}


def test_a_file_does_not_tell_what_links_run_at(tmp_path):
    assert levels("pcie-link-degraded", file_case(tmp_path, HEALTHY)) == {Level.UNKNOWN}


def test_a_switch_whose_uplink_is_narrow(tmp_path):
    narrow = f'[files]\n"/sys/bus/pci/devices/{SWITCH}/current_link_width" = "8"\n'
    found = findings("pcie-link-degraded", case(tmp_path, "dgx-h100", narrow))
    assert [(one.level, one.subject, one.evidence["current"]) for one in found] == [(Level.WARN, SWITCH, "x8")]


def test_lanes_that_a_board_shares_out_to_all_alike_are_no_fault(tmp_path):
    plain = case(tmp_path, "consumer-2x5090")
    shared = "".join(f'"/sys/bus/pci/devices/{gpu.bus_id}/current_link_width" = "8"\n' for gpu in plain.inventory.gpus)
    assert levels("pcie-link-degraded", case(tmp_path, "consumer-2x5090", f"[files]\n{shared}")) == {Level.INFO}


def test_a_gpu_at_rest_is_no_fault(tmp_path):
    slow = '[files]\n"/sys/bus/pci/devices/0000:1b:00.0/current_link_speed" = "2.5 GT/s PCIe"\n'
    assert levels("pcie-link-degraded", case(tmp_path, "dgx-h100", slow)) == {Level.PASS}


def test_a_nic_of_a_lower_generation_is_told_and_no_warning(tmp_path):
    slow = '[files]\n"/sys/bus/pci/devices/0000:18:00.0/current_link_speed" = "8.0 GT/s PCIe"\n'
    assert levels("pcie-link-degraded", case(tmp_path, "dgx-h100", slow)) == {Level.INFO}


def test_an_nvlink_that_is_down_has_a_predicted_effect(tmp_path):
    found = findings("nvlink-missing", case(tmp_path, "dgx-h100-nvlink-down"))
    assert [one.level for one in found] == [Level.WARN]
    assert "busbw" in found[0].effect


def test_a_rank_without_nvlinks(tmp_path):
    links = "".join(f"gpus.6.links.{i}.state = 0\n" for i in range(18))
    found = findings("nvlink-missing", case(tmp_path, "dgx-h100", f"[facts.nvml]\n{links}"))
    assert [(one.level, one.evidence["count"]) for one in found] == [(Level.WARN, 0)]
