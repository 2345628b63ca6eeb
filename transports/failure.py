# SPDX-License-Identifier: Apache-2.0
"""How a run failed, as one rank or the hub noticed it, and what is reported to all ranks once their states are
known.
"""

from dataclasses import dataclass

from railgauge.transports.blame import NOBODY, Waits, blame
from railgauge.transports.picture import RankStates, draw, parting


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What was noticed, and when (time.monotonic())."""

    message: str
    at: float
    rank: int = -1
    """That noticed it; -1: the hub."""
    waits: Waits = NOBODY
    """The rank that it gave up waiting for."""
    mismatch: bool = False
    """Whether that rank received another operation's data."""
    late: int = -1
    """The rank that is lost, or that others wait for in an exchange; -1: not yet known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureVerdict:
    """Why the run is over; `rank` is at fault, -1: no single rank."""

    message: str
    rank: int = -1
    mismatch: bool = False
    """Whether ranks did different things."""


def judge(failure: Failure, scene: RankStates) -> FailureVerdict:
    """The outcome of a failure, given where the ranks stand."""
    if failure.rank < 0:
        picture = draw(scene, failure.late) if failure.late >= 0 else ""
        return FailureVerdict(message=": ".join(filter(None, (failure.message, picture))), rank=failure.late)
    noticed = f"rank {failure.rank}: {failure.message}"
    if failure.mismatch:
        return FailureVerdict(message=parting(scene.standings) or noticed, mismatch=True)
    if failure.waits[0] < 0:
        return FailureVerdict(message=noticed)
    if parted := parting(scene.standings):
        return FailureVerdict(message="; ".join(filter(None, (parted, draw(scene)))), mismatch=True)
    late = blame(scene.waits | {failure.rank: failure.waits}, failure.rank)
    picture = draw(scene, late)
    return FailureVerdict(
        message=f"rank {late} {_did(scene, late)}: {f'{picture} ({noticed})' if picture else noticed}", rank=late
    )


def _did(scene: RankStates, late: int) -> str:
    if late in scene.left:
        return "left"
    return "did not take part" if late in scene.standings else "stopped answering"
