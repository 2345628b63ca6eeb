# SPDX-License-Identifier: Apache-2.0
"""Horovod's stall inspector names the ranks that have not submitted a tensor; in the words of all its releases."""

import pytest
from tests.topo.jobs.hang.reading import found, message, scene_of

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.verdict import verdict

WARNED = "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks\n"
SINCE_0_17 = f"{WARNED}Stalled ranks:\n6: [allreduce.0, allreduce.1 ...]\n7!: [allreduce.0]\nepoch 3: [1, 2]\n"
BEFORE = f"{WARNED}Stalled ops:\nallreduce.0 [missing ranks: 6, 7]\nallreduce.1 [missing ranks: 6, 7]\n"


@pytest.mark.parametrize("said", [SINCE_0_17, SINCE_0_17.replace("Stalled", "Missing"), BEFORE])
@pytest.mark.parametrize("prefix", ["", "[1,0]<stderr>:", "(pid=12, ip=10.0.0.2) "])
def test_the_ranks_that_are_missing_are_named(tmp_path, said, prefix):
    (tmp_path / "job.log").write_text("".join(f"{prefix}{line}\n" for line in said.splitlines()))
    scene = scene_of(tmp_path)
    assert found(scene) == [("rank-behind", "FAIL")]
    assert "ranks 6-7 have not submitted allreduce.0" in message(scene)
    assert verdict(scene).is_stuck


@pytest.mark.parametrize(
    ("stalls", "who"),
    [
        ("allreduce.0 [ready ranks: 2, 0, 4, 3]", "rank 1 and any above 4 have"),
        ("allreduce.0 [ready ranks: 0, 2], allreduce.1 [ready ranks: 0, 2, 3]", "ranks 1,3 and any above 3 have"),
        ("allreduce.0 [ready ranks: 0, 1]", "ranks other than 0-1 have"),
    ],
)
def test_of_the_words_before_0_11_those_that_are_left_out_are_named(tmp_path, stalls, who):
    (tmp_path / "job.log").write_text(f"WARNING: {WARNED.strip()} Stalled ops: {stalls}\n")
    scene = scene_of(tmp_path)
    assert found(scene) == [("rank-behind", "FAIL")]
    assert f"{who} not submitted allreduce.0" in message(scene)


def test_a_log_without_stalls_has_none(tmp_path):
    (tmp_path / "job.log").write_text("Stalled ranks:\nnone\n[missing ranks: ?]\n3: [1, 2]\n")
    with pytest.raises(InputError, match="no data of a stuck job"):
        scene_of(tmp_path)
