# SPDX-License-Identifier: Apache-2.0
"""Ranks in a message: `rank 3`, `ranks 3 and 7`, `ranks 2-7, 9 and 12`."""

from collections.abc import Iterable, Sequence

from railgauge.topo.values.spans import runs

MOST_NAMED = 12


def name_ranks(ranks: Iterable[int], one: str = "rank", many: str = "ranks") -> str:
    """Name ranks, three and more in a row as a range; after a dozen names the rest is counted."""
    ordered = sorted(set(ranks))
    names = [text for run in runs(ordered) for text in _texts(run)]
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], "more"]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{many if len(ordered) > 1 else one} {listed}"


def _texts(run: Sequence[int]) -> list[str]:
    return [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(rank) for rank in run]
