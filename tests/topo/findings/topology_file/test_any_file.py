# SPDX-License-Identifier: Apache-2.0
"""Whatever is in a file, the linter tells findings or says that it is no topology."""

import contextlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.topo.findings.topology_file.topology_text import HEALTHY, findings

from railgauge.topo.errors import InputError
from railgauge.topo.machine import Machine
from railgauge.topo.render.findings import record
from railgauge.topo.xml import topology_file

MACHINE = Machine(topology=topology_file.loads(HEALTHY))
PIECES = ["", "0", "-1", '"', "<", "/>", "gpu", "9" * 25, "busid", "<!--", "ffffffff,", " ", "\t", "0x03", "é", "\n"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_mutation_does_more_than_make_findings(tmp_path, data):
    text = HEALTHY
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    with contextlib.suppress(InputError):
        for finding in findings(tmp_path, text, data.draw(st.sampled_from([None, MACHINE]))):
            assert finding.line is None or 1 <= finding.line <= text.count("\n") + 1
            assert finding.message
            assert record(finding)


def test_thousands_of_elements_take_no_square_of_time(tmp_path):
    """Each of these was slow once: many NICs, many masks, many GPUs, one bus id for all."""
    link = 'link_speed="32.0 GT/s PCIe" link_width="16"'
    one = {
        "nics": f'<pci busid="{{i:04x}}:00:00.0" class="0x020000" {link}><nic><net name="n{{i}}"/></nic></pci>',
        "same": f'<pci busid="0000:00:00.0" class="0x060400" {link}/>',
        "gpus": f'<pci busid="{{i:04x}}:00:00.0" class="0x030000" {link}><gpu sm="90" dev="{{i}}"/></pci>',
    }
    for element in one.values():
        many = "\n".join(element.format(i=i) for i in range(3000))
        assert findings(tmp_path, f'<system version="1"><cpu numaid="0" arch="x86_64">{many}</cpu></system>')
    cpus = "".join(f'<cpu numaid="{i}" affinity="ffffffff"/>\n' for i in range(3000))
    assert findings(tmp_path, f'<system version="1">{cpus}</system>')
