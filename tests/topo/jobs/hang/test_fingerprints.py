# SPDX-License-Identifier: Apache-2.0
"""PyTorch names two ranks whose collectives differ (TORCH_DISTRIBUTED_DEBUG=DETAIL); in the words of its releases."""

import pytest
from tests.topo.jobs.hang.reading import found, message, scene_of

from railgauge.topo.jobs.hang.verdict import verdict

DTYPE = "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)"
SHAPES = (
    "Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4, 2], "
    f"{DTYPE}), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, "
    f"TensorShape=[4, 3], {DTYPE})."
)
NUMBERS = (
    "Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=1OpType=BARRIER), but Rank 2 is running "
    "collective: CollectiveFingerPrint(SequenceNumber=0OpType=BARRIER)."
)
BY_NAME = (
    f"Rank 0 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE, {DTYPE}), but Rank 1 is running "
    "collective: REDUCE."
)
ALONE = f"Rank 0 is running inconsistent collective: CollectiveFingerPrint(OpType=BROADCAST, TensorShape=[9], {DTYPE})"
WORDS = {
    SHAPES: "rank 0 called allreduce #7 of [4, 3] float; rank 1 called allreduce #7 of [4, 2] float",
    NUMBERS: "rank 1 called barrier #1; rank 2 called barrier #0",
    BY_NAME: "rank 0 called allreduce; rank 1 called reduce",
    ALONE: "rank 0 called broadcast of [9] float; another rank called something else",
}


@pytest.mark.parametrize("said", WORDS)
@pytest.mark.parametrize("prefix", ["", "[rank1]: ", "(pid=12, ip=10.0.0.2) "])
@pytest.mark.parametrize("wrap", [False, True])
def test_who_called_what_is_named(tmp_path, said, prefix, wrap):
    line = f"{prefix}RuntimeError: Detected mismatch between collectives on ranks. {said}"
    lines = [line[at : at + 90] for at in range(0, len(line), 90)] if wrap else [line]
    (tmp_path / "job.log").write_text("\n".join(["step 3", *lines, "Traceback", ""]))
    scene = scene_of(tmp_path)
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert WORDS[said] in message(scene)
    assert verdict(scene).is_stuck


def test_ranks_of_one_call_are_together(tmp_path):
    reports = SHAPES + "\n" + SHAPES.replace("Rank 1", "Rank 3").replace("Rank 0", "Rank 2") + "\n"
    (tmp_path / "job.log").write_text(reports)
    assert "ranks 0,2 called allreduce #7 of [4, 3] float; ranks 1,3 called" in message(scene_of(tmp_path))


def test_calls_of_all_ranks_that_are_alike_are_said(tmp_path):
    """PyTorch logs each call before the ranks compare it."""
    said = "[I ProcessGroupWrapper.cpp:562] [Rank {r}] Running collective: CollectiveFingerPrint(SequenceNumber={n}, "
    said += f"OpType=ALLREDUCE, TensorShape=[9], {DTYPE})\n"
    (tmp_path / "job.log").write_text("".join(said.format(r=r, n=n) for n in (17, 18) for r in range(4)))
    scene = scene_of(tmp_path)
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert "ranks 0-3 called allreduce #18 of [9] float last" in message(scene)
