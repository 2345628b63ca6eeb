# SPDX-License-Identifier: Apache-2.0
"""Path types of many nodes: computed once for each wiring, told where nothing on the way explains them."""

import re
from dataclasses import replace

from tests.topo.findings.cluster.fleets import changed, read, usual, write

from railgauge.topo.facts.sources.nccl_topo_file import VIRTUAL
from railgauge.topo.findings.cluster import routes
from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.words import difference_text
from railgauge.topo.machine import load_machine
from railgauge.topo.xml import topology_file

NO_GDR = '[files]\n"/sys/module/nvidia_peermem" = false'


def test_a_changed_wiring_is_looked_at_once_for_all_that_have_it(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(routes, "path_changes", lambda *args: looked.append(args) or ())
    for number in range(1, 8):
        write(tmp_path, f"n{number}", changed("[facts.nvml]\ngpus.2.links.5.state = 0") if number > 5 else usual())
    compare(*read(tmp_path))
    assert len(looked) == 1


def test_equal_machines_need_no_paths(tmp_path, monkeypatch):
    monkeypatch.setattr(routes, "path_changes", None)
    for number in (1, 2, 3):
        write(tmp_path, f"n{number}", changed(NO_GDR) if number == 3 else usual())
    assert [difference_text(one) for one in compare(*read(tmp_path)).differences] == [
        "GDR module none, 2 of 3 nodes nvidia_peermem"
    ]


def test_a_path_that_a_daemons_topology_file_changes_is_told_with_the_file(tmp_path):
    for number in range(1, 5):
        write(tmp_path, f"n{number}", usual())
    before = topology_file.dumps(load_machine(str(tmp_path / "n4.tar.gz")).topology)
    gpu0 = re.search(r'<pci busid="0000:1b:00.0".*?</pci>', before, re.DOTALL)[0]
    text = before.replace(gpu0, "", 1).replace("</cpu>", gpu0 + "</cpu>", 1)  # from its switch to the CPU
    machine = usual()
    write(tmp_path, "n4", replace(machine, texts=machine.texts | {VIRTUAL: text}))
    told = {difference_text(one) for one in compare(*read(tmp_path)).differences}
    assert f"{VIRTUAL} is present, 3 of 4 nodes do not have it" in told
    assert "mlx5_0 - GPU0: PHB, 3 of 4 nodes PIX" in told
