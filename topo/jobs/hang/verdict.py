# SPDX-License-Identifier: Apache-2.0
"""The verdict on a scene: its findings, the worst first, and a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.topo.findings.cards.hang import RANK_STUCK
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import JOB, JobState, Status, counted
from railgauge.topo.jobs.hang.rules.rules import RULES
from railgauge.topo.jobs.hang.standstill import Standstill

SEVERITY = (Level.FAIL, Level.WARN, Level.UNKNOWN)


@dataclass(frozen=True, slots=True)
class HangVerdict:
    """findings: the worst first. is_stuck: ranks are known to wait, even if the culprit is unknown."""

    text: str
    findings: tuple[Finding, ...]
    is_stuck: bool


def verdict(scene: JobState) -> HangVerdict:
    """Judge a scene."""
    standstill = Standstill(scene)
    found = [finding for rule in RULES for finding in rule.find(standstill, "log")]
    found.sort(key=lambda one: (SEVERITY.index(one.level), one.id != RANK_STUCK.id))
    return HangVerdict(found[0].message if found else _nothing(scene), tuple(found), _is_stuck(standstill, found))


def _is_stuck(standstill: Standstill, found: Sequence[Finding]) -> bool:
    scene = standstill.scene
    gave_up = scene.heard or any(
        comm.numbering == JOB and Status.STARTING in comm.status.values() for comm in scene.communicators.values()
    )
    waits = any(hold.is_told for hold in standstill.holds) or bool(scene.stacks and found)
    return bool(gave_up or waits) or any(finding.level is Level.FAIL for finding in found)


def _nothing(scene: JobState) -> str:
    """What it means that nothing was found."""
    many = counted(len(scene.communicators), "communicator")
    tracks = [
        track for comm in scene.communicators.values() for lane in comm.lanes.values() for track in lane.tracks.values()
    ]
    if not scene.communicators:
        return "no problem found in any communicator"
    if any(track.moved for track in tracks):
        return f"nothing hangs: the ranks of {many} went on between the last two looks"
    if any(track.completed is None for track in tracks):
        return (
            f"no problem found: all ranks of {many} have called the same operations. Unknown whether the last ones "
            "completed: a flight record of PyTorch would show it"
        )
    if tracks:
        return f"nothing hangs: all operations of {many} are over on the ranks with data"
    return f"no problem found: {many} created, no collectives logged"
