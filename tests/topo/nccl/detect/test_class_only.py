# SPDX-License-Identifier: Apache-2.0
"""Provider files have GPUs and NICs by PCI class alone; what they are is assumed, and said."""

import pytest

from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.machine import load_machine

GROUP = """\
<pci busid="ffff:ff:0{n}.0" class="0x060400" link_speed="{speed}" link_width="16">
<pci busid="000{n}:00:00.0" class="0x030200" {ids} link_speed="{speed}" link_width="16"/>
<pci busid="010{n}:00:00.0" class="{nic}" link_speed="{speed}" link_width="16"/>
</pci>
"""


def machine(tmp_path, groups=8, speed="32.0 GT/s PCIe", nic="0x020700", ids=""):
    halves = [range(groups // 2), range(groups // 2, groups)]
    cpus = (
        f'<cpu numaid="{number}" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
        + "".join(GROUP.format(n=n, speed=speed, nic=nic, ids=ids) for n in half)
        + "</cpu>"
        for number, half in enumerate(halves)
    )
    path = tmp_path / "provider.xml"
    path.write_text(f'<system version="1">{"".join(cpus)}</system>')
    return load_machine(str(path))


@pytest.mark.parametrize(
    ("speed", "ids", "sm", "nvlinks", "gbps"),
    [
        ("32.0 GT/s PCIe", "", 90, 18, 400),
        ("16.0 GT/s PCIe", "", 80, 12, 200),
        ("8 GT/s", 'vendor="0x10de" device="0x20b0"', 80, 12, 100),
        ("8 GT/s", "", 70, 6, 100),
    ],
)
def test_gpus_and_nics_are_assumed(tmp_path, speed, ids, sm, nvlinks, gbps):
    made = machine(tmp_path, speed=speed, ids=ids)
    assert [gpu.sm for gpu in made.system.gpus] == [sm] * 8
    assert {gpu.get("rank") for gpu in made.topology.gpus} == set("01234567")
    assert made.topology.gpus[0].children[0].get("count") == str(nvlinks)
    assert [net.name for net in made.system.nets] == [f"NIC{n}" for n in range(8)]
    assert f"NIC0 to NIC7 of {gbps} Gb/s each" in made.warnings[1]
    assert f"8 GPUs of compute capability {sm / 10}" in made.warnings[0]
    assert made.paths.wired(made.system.gpus[0].id, made.system.nets[0].id).type == "PIX"


def test_nvlinks_of_few_gpus_are_not_guessed(tmp_path):
    made = machine(tmp_path, groups=2)
    assert not made.topology.gpus[0].children
    assert "NVLinks unknown" in made.warnings[0]


def test_assumed_nvlinks_never_pass(tmp_path):
    levels = {one.id: one.level for one in check(machine(tmp_path), RULES)}
    assert levels["nvlink-missing"] == "UNKNOWN"


def test_a_file_with_gpus_stays_as_it_is(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text(
        '<system version="1"><cpu numaid="0" affinity="f" arch="x86_64"><pci busid="0000:01:00.0" class="0x030200">'
        '<gpu dev="0" sm="90" rank="0" gdr="1"/></pci><pci busid="0000:02:00.0" class="0x020700"/></cpu></system>'
    )
    made = load_machine(str(path))
    assert not made.topology.assumed
    assert not made.system.nets
