# SPDX-License-Identifier: Apache-2.0
"""A small healthy topology file, and what the linter says of a changed one."""

from railgauge.topo.findings.topology_file.inspected_file import read
from railgauge.topo.findings.topology_file.rules import lint

FAST = 'link_speed="32.0 GT/s PCIe" link_width="16"'
HEALTHY = f"""\
<system version="1">
  <cpu numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:10:00.0" class="0x060400" {FAST}>
      <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" device="0x2330" {FAST}>
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:81:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x020000" {FAST}>
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="00000000,ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:80:00.0" class="0x060400" {FAST}>
      <pci busid="0000:81:00.0" class="0x030200" vendor="0x10de" device="0x2330" {FAST}>
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:11:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:82:00.0" class="0x020000" {FAST}>
        <nic>
          <net name="mlx5_1" dev="1" speed="400000" port="1" guid="0x2" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
"""


def changed(*changes):
    """The healthy file with (old, new) text, each replaced once and there."""
    text = HEALTHY
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def findings(folder, text, machine=None):
    path = folder / "topo.xml"
    path.write_text(text)
    return lint(read(str(path), machine))
