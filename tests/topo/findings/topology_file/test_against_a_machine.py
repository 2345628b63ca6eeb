# SPDX-License-Identifier: Apache-2.0
"""A file beside the machine it is for: another machine's file, swapped nodes, other links."""

import re
from dataclasses import replace

import pytest
from tests.topo.findings.topology_file.topology_text import HEALTHY, changed, findings
from tests.topo.nvlinks_down import with_nvlinks_down

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import Machine, load_machine
from railgauge.topo.xml import topology_file

MACHINE = Machine(topology=topology_file.loads(HEALTHY), host="gpu-03")
SWAP = [
    ('<cpu numaid="0"', "{n}"),
    ('<cpu numaid="1"', '<cpu numaid="0"'),
    ("{n}", '<cpu numaid="1"'),
]


@pytest.mark.parametrize(
    ("changes", "rule", "level", "line", "words"),
    [
        (SWAP, "device-misplaced", "WARN", 4, "0000:11:00.0, 0000:12:00.0: on NUMA node 1 in the file, on node 0"),
        (SWAP, "affinity-mask-wrong", "WARN", 2, "those of node 0"),
        ([("ffff0000", "fff00000")], "affinity-mask-wrong", "WARN", 16, "20-31 in the file and 16-31 on the machine"),
        ([("0000:12:00.0", "0000:13:00.0")], "topo-file-stale", "WARN", 9, "no NIC at 0000:13:00.0"),
        ([("0000:12:00.0", "0000:13:00.0")], "topo-file-stale", "WARN", None, "0000:12:00.0 is not in the file"),
        ([('count="4"', 'count="2"')], "nvlink-differs", "WARN", 5, "82.4 GB/s"),
        ([("32.0 GT/s", "8.0 GT/s")], "pcie-link-degraded", "WARN", 3, "48 -> 12 GB/s"),
    ],
)
def test_a_difference_is_told(tmp_path, changes, rule, level, line, words):
    found = [f for f in findings(tmp_path, changed(*changes), MACHINE) if (f.id, f.line) == (rule, line)]
    assert words in " ".join(f"{f.message} {f.effect}" for f in found)
    assert {(str(f.level), f.host) for f in found} == {(level, "gpu-03")}


def test_a_file_is_clean_on_its_own_machine(tmp_path):
    assert findings(tmp_path, HEALTHY, MACHINE) == ()


def test_a_file_of_another_machine_fails(tmp_path):
    other = HEALTHY.replace("0000:11:", "0000:21:").replace("0000:81:", "0000:91:")
    found = [f for f in findings(tmp_path, other, MACHINE) if f.level == "FAIL"]
    assert [(f.id, f.line) for f in found] == [("topo-file-stale", 4), ("topo-file-stale", 18)]


def test_a_function_that_takes_no_part_is_there_nevertheless(tmp_path):
    """A NIC whose port is down has a PCI function, and NCCL does not use it."""
    found = findings(tmp_path, dump("@dgx-h100"), load_machine("@dgx-h100-port-down"))
    assert [(f.id, str(f.level), f.message.split(" on ")[0]) for f in found] == [
        ("net-differs", "INFO", "NCCL does not use mlx5_3")
    ]


def test_a_function_of_another_class_is_no_nic(tmp_path):
    """0000:00:05.0 of the recorded machine is its disk controller."""
    machine = load_machine("@h200x4")
    here = topology_file.dumps(machine.topology)
    more = here.replace("    <nic>", '    <pci busid="0000:00:05.0" class="0x020000"/>\n    <nic>')
    assert machine.reader.realpath("/sys/bus/pci/devices/0000:00:05.0")
    assert "topo-file-stale" not in {f.id for f in findings(tmp_path, here, machine)}
    assert {f.subject for f in findings(tmp_path, more, machine) if f.id == "topo-file-stale"} == {"0000:00:05.0"}


def test_a_bus_id_of_another_kind_is_no_gpu(tmp_path):
    """The DGX A100 has switches and NVMe disks where the DGX H100 has GPUs."""
    found = findings(tmp_path, dump("@dgx-h100"), load_machine("@dgx-a100"))
    failed = [f for f in found if f.level == "FAIL"]
    assert {(f.id, f.evidence["kind"]) for f in failed} == {("topo-file-stale", "GPU")}
    assert len(failed) == 8


def dump(name):
    return topology_file.dumps(load_machine(name).topology)


NET = 'name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"'


@pytest.mark.parametrize(
    ("old", "new", "rule", "line", "words"),
    [
        ('speed="400000"', 'speed="100000"', "net-differs", 11, "plans with 12.5 GB/s instead of 50 GB/s"),
        (NET, NET.replace('gdr="1"', 'gdr="0"'), "net-differs", 11, "gdr is 0 in the file, 1 on the machine"),
        ('guid="0x2"', 'guid="0x1"', "net-differs", 11, "with mlx5_1 in the file, with none on the machine"),
        ("mlx5_0", "mlx5_9x", "net-differs", 11, "the machine has no NIC mlx5_9x"),
        ('sm="90"', 'sm="80"', "gpu-differs", 5, "20 GB/s per NVLink instead of 20.6 GB/s"),
        ('<gpu dev="0"', '<gpu dev="7"', "gpu-differs", 5, "dev is 7 in the file, 0 on the machine"),
        ('rank="0" gdr="1"', 'rank="0" gdr="0"', "gpu-differs", 5, "gdr is 0 in the file"),
    ],
)
def test_an_attribute_that_is_not_the_machines(tmp_path, old, new, rule, line, words):
    found = [f for f in findings(tmp_path, changed((old, new)), MACHINE) if f.id == rule]
    assert (found[0].line, str(found[0].level)) == (line, "WARN")
    assert words in f"{found[0].message} {found[0].effect}"


@pytest.mark.parametrize(
    ("old", "new"),
    [('guid="0x1"', 'guid="0x77"'), ('guid="0x1"', ""), ('name="mlx5_0" dev="0"', 'name="mlx5_0"'), ('gdr="1"', "")],
)
def test_what_nccl_asks_the_machine_for_or_nobody_needs_is_no_difference(tmp_path, old, new):
    found = findings(tmp_path, changed((old, new)), MACHINE)
    assert not {f.id for f in found} & {"net-differs", "gpu-differs"}


@pytest.mark.parametrize("attribute", ['sm="90"', 'dev="0"', 'gdr="1"'])
def test_what_the_machine_does_not_tell_of_a_gpu_is_no_difference(tmp_path, attribute):
    silent = Machine(topology=topology_file.loads(changed((attribute, ""))))
    assert "gpu-differs" not in {f.id for f in findings(tmp_path, HEALTHY, silent)}


def test_what_the_machine_does_not_tell_of_a_nic_is_unknown(tmp_path):
    """The virtio interface of the recorded machine has no speed; NCCL counts 10 Gb/s."""
    machine = load_machine("@h200x4")
    here = topology_file.dumps(machine.topology)
    assert 'speed="10000"' in here
    found = [f for f in findings(tmp_path, here.replace("10000", "400000"), machine) if f.id == "net-differs"]
    assert [(str(f.level), f.evidence) for f in found] == [("UNKNOWN", {"missing": "speed"})]


def test_a_file_without_nics_says_nothing_of_them(tmp_path):
    bare = re.sub("<nic>.*?</nic>", "", HEALTHY, flags=re.DOTALL)
    found = findings(tmp_path, HEALTHY, Machine(topology=topology_file.loads(bare)))
    assert [(f.line, f.evidence) for f in found if f.id == "net-differs"] == [(11, {"missing": "NICs"})]


def test_a_nic_of_a_known_name_is_taken_to_be_where_the_file_has_it(tmp_path):
    found = findings(tmp_path, changed(("0000:12:00.0", "0000:13:00.0")), MACHINE)
    assert [f.effect for f in found if f.line == 9] == ["NCCL assumes that mlx5_0 exists"]


@pytest.mark.parametrize(("down", "count"), [([2], 1), (range(8), 8)])
def test_nvlinks_that_are_down_are_told_whatever_the_file_says(tmp_path, down, count):
    machine = with_nvlinks_down(tmp_path, "dgx-h100", down, 18)
    for text in (dump("@dgx-h100"), re.sub(" *<nvlink .*\n", "", dump("@dgx-h100"))):
        found = [f for f in findings(tmp_path, text, machine) if f.id == "nvlink-missing"]
        assert {f.message for f in found} == {"0 of 18 NVLinks are up on the machine"}
        assert {f.effect for f in found} == {"370.8 -> 0 GB/s for this GPU"}
        assert len(found) == count


SILENT = CaptureReader(Capture(manifest={}, facts={"nvml": {"error": "NVML: Driver/library version mismatch"}}))


def test_what_the_machine_does_not_tell_is_unknown(tmp_path):
    without_masks = changed((' affinity="00000000,0000ffff"', ""), (' affinity="00000000,ffff0000"', ""))
    silent = replace(MACHINE, topology=topology_file.loads(without_masks), facts=MachineFacts(SILENT))
    found = {f.id: f for f in findings(tmp_path, HEALTHY, silent)}
    assert {(f.id, str(f.level)) for f in found.values()} == {
        ("nvlink-differs", "UNKNOWN"),
        ("affinity-mask-wrong", "UNKNOWN"),
        ("net-differs", "UNKNOWN"),
    }
    assert "version mismatch" in found["nvlink-differs"].message


def test_a_link_that_runs_narrow_on_the_machine_is_told(tmp_path):
    machine = load_machine("@dgx-h100-nic-x8")
    found = findings(tmp_path, topology_file.dumps(machine.topology), machine)
    assert [(f.id, f.subject, f.evidence["lanes"]) for f in found] == [("pcie-link-degraded", "0000:18:00.0", 8)]
    assert found[0].effect == "48 -> 24 GB/s for this device"
