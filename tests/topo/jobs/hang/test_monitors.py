# SPDX-License-Identifier: Apache-2.0
"""Monitors of other programs than PyTorch that say of a rank that it hangs: ranks wait, who is to blame is unknown."""

import pytest
from tests.topo.jobs.hang.reading import found, message, scene_of

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.verdict import verdict

SAID = (
    "[n1][3598464:3601780][0][state_monitor.cc:412] NCCL WARN StateMonitor:4e4c:Rank1 : kernel begins at work 55731 "
    "may hang in polling",
    "ERROR health: rank 1 may hang since step 40",
    "(Worker pid=12) rank=1: all_reduce may hang",
)


@pytest.mark.parametrize("line", SAID)
def test_the_rank_is_named(tmp_path, line):
    (tmp_path / "job.log").write_text(f"step 3\n{line}\n")
    scene = scene_of(tmp_path)
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert "rank 1" in message(scene)
    assert verdict(scene).is_stuck


@pytest.mark.parametrize("line", ["rank 1 changing lr", "rank 1: hanging indent", "this may hang"])
def test_other_words_name_none(tmp_path, line):
    (tmp_path / "job.log").write_text(f"{line}\n")
    with pytest.raises(InputError, match="no data of a stuck job"):
        scene_of(tmp_path)
