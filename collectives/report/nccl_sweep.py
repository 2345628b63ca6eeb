# SPDX-License-Identifier: Apache-2.0
"""A sweep of NCCL's settings as a table for people and as the content of a railgauge/nccl-tuning/1 document."""

from collections.abc import Iterator
from statistics import median
from typing import Any

from railgauge.collectives.nccl_sweep import LEAST_GAIN, OWN, GainVerdict, NcclSweep, NcclTime, NcclWay
from railgauge.topo.predict.comparison import size_text
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.render.wrapping import fitting

DIGITS = 4
HEAD = ("size", "NCCL's choice", "us", "best us", "saves", "with")
NOTHING = "-"


def sweep_lines(found: NcclSweep, what: str) -> Iterator[Line]:
    """NCCL's choice at each size, the fastest setting where one is faster, what that costs at other sizes, and what
    failed.
    """
    yield line(f"{what}: {len(found.samples) - 1} settings beside NCCL's choice, {found.turns} turns", Ink.HEADING)
    yield from map(line, fitting([HEAD, *(_cells(found, size) for size in found.verdicts)], None))
    faster = dict.fromkeys(way for size in found.verdicts for way in found.gains(size)[:1])
    yield line(
        "A variable holds for all sizes of a job:"
        if faster
        else f"no setting saves {LEAST_GAIN:.0%} of the time beyond the noise"
    )
    for way in faster:
        shares = {size: found.gain(way, size) for size in found.verdicts if size in found.times[way]}
        best, worst = (which(shares, key=shares.__getitem__) for which in (max, min))
        costs = f"costs up to {-shares[worst]:.0%}, at {size_text(worst)}" if shares[worst] < 0 else "costs nothing"
        yield line(f"  {way.words}: saves up to {shares[best]:.0%}, at {size_text(best)}; {costs}")
    for why in dict.fromkeys(found.left_out.values()):
        first, *others = [way.words for way, its in found.left_out.items() if its == why]
        yield line(f"left out: {first}{f' and {len(others)} more' if others else ''}: {why}")


def _cells(found: NcclSweep, size: int) -> list[str]:
    gains = found.gains(size)
    best = [_us(found, gains[0], size), f"{found.gain(gains[0], size):.0%}", gains[0].words] if gains else []
    return [size_text(size), _chosen(found.samples[OWN][size]), _us(found, OWN, size), *(best or [NOTHING] * 3)]


def _chosen(one: NcclTime) -> str:
    return " ".join(str(part) for part in one.chosen if part) or "not logged"


def _us(found: NcclSweep, way: NcclWay, size: int) -> str:
    times = found.times.get(way, {}).get(size)
    return f"{median(times):.2f}" if times else NOTHING


def sweep_document(found: NcclSweep) -> dict[str, Any]:
    """What the document holds beside its head and the ranks."""
    return {
        "turns": found.turns,
        "least_gain": LEAST_GAIN,
        "settings": [
            {"environment": way.environment, "why_not": found.left_out.get(way)}
            for way in dict.fromkeys([*found.samples, *found.left_out])
        ],
        "rows": [
            {
                "bytes": size,
                "algorithm": own.algorithm,
                "protocol": own.protocol,
                "channels": own.channels,
                "times_us": _times(found, OWN, size),
                "faster": [_faster(way, found.samples[way][size]) for way in found.gains(size)],
                "measured": [_measured(found, way, size, its[way]) for way in its],
            }
            for size, its in found.verdicts.items()
            for own in [found.samples[OWN][size]]
        ],
    }


def _faster(way: NcclWay, ran: NcclTime) -> dict[str, Any]:
    """What NCCL ran with a setting, as the tuner plugin applies it."""
    channels = way.channels if ran.channels is None else ran.channels
    return {
        "algorithm": ran.algorithm or way.algorithm,
        "protocol": ran.protocol or way.protocol,
        "channels": channels,
        "sets_channels": way.channels is not None,
    }


def _measured(found: NcclSweep, way: NcclWay, size: int, verdict: GainVerdict) -> dict[str, Any]:
    times = _times(found, way, size)
    return {
        "environment": way.environment,
        "verdict": "noise" if verdict is GainVerdict.OPEN else str(verdict),
        "saves": round(found.gain(way, size), DIGITS) if times else None,
        "times_us": times,
    }


def _times(found: NcclSweep, way: NcclWay, size: int) -> list[float]:
    return [round(one, DIGITS) for one in found.times.get(way, {}).get(size, [])]
