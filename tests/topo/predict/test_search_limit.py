# SPDX-License-Identifier: Apache-2.0
"""More GPUs than any machine has are not searched over: every command that would says so at once."""

import json

import pytest
from tests.cli.command import in_process

from railgauge.topo.nccl.graph.fusion import in_fused_order
from railgauge.topo.predict.search import MOST_GPUS
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.tree import ElementBuilder


def machine(gpus: int) -> str:
    """A topology file of eight GPUs a NUMA node."""
    lines = ['<system version="1">']
    for cpu in range(gpus // 8):
        lines.append(
            f'<cpu numaid="{cpu}" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
        )
        lines += [
            f'<pci busid="{cpu:04x}:{slot + 1:02x}:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">'
            f'<gpu dev="{8 * cpu + slot}" sm="90" rank="{8 * cpu + slot}" gdr="1"/></pci>'
            for slot in range(8)
        ]
        lines.append("</cpu>")
    return "\n".join([*lines, "</system>"])


@pytest.mark.parametrize(
    "command", [("graph", "search"), ("graph", "predict"), ("graph", "search", "--policy", "nccl")]
)
def test_a_search_over_too_many_gpus_is_refused(tmp_path, command):
    file = tmp_path / "many.xml"
    file.write_text(machine(MOST_GPUS + 8))
    done = in_process(*command, "--from", str(file))
    assert done.returncode == 3
    assert f"GPUs: the search supports up to {MOST_GPUS}" in done.stderr


def test_a_check_of_them_has_an_answer(tmp_path):
    file = tmp_path / "many.xml"
    file.write_text(machine(MOST_GPUS + 8))
    done = in_process("check", "--from", str(file), "--json", "--fail-on", "UNKNOWN")
    assert done.returncode in (0, 1)
    assert json.loads(done.stdout)["findings"]


def test_the_largest_domain_is_within():
    assert MOST_GPUS >= 72


def test_the_order_of_many_gpus_takes_work_with_their_number_and_not_with_its_square(monkeypatch):
    made = []
    start = ElementBuilder.__init__
    monkeypatch.setattr(ElementBuilder, "__init__", lambda tree, *args: (made.append(1), start(tree, *args))[1])

    def work(gpus):
        made.clear()
        in_fused_order(topology_file.loads(machine(gpus)))
        return len(made)

    assert work(256) < 2.5 * work(128)
