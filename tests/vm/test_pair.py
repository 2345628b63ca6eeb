# SPDX-License-Identifier: Apache-2.0
"""Two guests at once: RDMA runs between them, and their captures differ in what was built differently."""

import pytest
from tests.cli.command import railgauge
from tests.vm.boards import gpus

pytestmark = pytest.mark.vm


def test_an_rdma_ping_pong_runs_between_the_guests(pair):
    for answers in pair:
        assert "100 iters" in (answers.folder / "pingpong").read_text()


def test_their_captures_differ_in_the_narrow_gpu_alone(pair):
    result = railgauge("topo", "diff", *(str(answers.folder / "node.tar.zst") for answers in pair))
    assert result.returncode == 1, result.stderr
    (gpu,) = gpus(pair[0].board)
    assert [line for line in result.stdout.splitlines() if gpu not in line] == []
    assert "x16 -> x8" in result.stdout
