# SPDX-License-Identifier: Apache-2.0
"""What a soak does: an endless row of random steps, each drawn from the seed and its own number alone, so that any of
them can be done again without the others.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.collectives.oracle import ALL_TO_ALL_V, DTYPES, ROOTS, Case, numpy_dtype

from railgauge.collectives.dtype import Redop
from railgauge.collectives.operation import NUMBERS, WHOLE

LARGEST_BYTES = 4 << 20
"""Of one rank's larger buffer. Sizes are drawn evenly by their logarithm: half of them are below 2 KiB."""
BARRIER = "barrier"
PARTS = 2
"""So many communicators are split off at a time, beside that of all ranks, which is number 0."""
STEPS_PER_PARTS = 100
"""After so many steps they are closed, and others are split off."""


@dataclass(frozen=True)
class Call:
    """One collective on one communicator."""

    communicator: int
    case: Case | None
    """None: a barrier."""
    in_background: bool


@dataclass(frozen=True)
class Step:
    """Calls that are made one after another, and then checked."""

    number: int
    grouped: bool
    """As a group of operations; they are then on one communicator."""
    calls: list[Call]


def steps(seed: int, ranks: int, collectives: int) -> Iterator[Step]:
    """Steps until there were so many collectives."""
    number = 0
    while collectives > 0:
        made = step(seed, ranks, number)
        yield made
        collectives -= len(made.calls)
        number += 1


def step(seed: int, ranks: int, number: int) -> Step:
    """The step of that number."""
    draw = random.Random(f"{seed} {number}")
    grouped = draw.random() < 0.25
    first = draw.randrange(1 + PARTS)
    calls = [
        Call(
            communicator=first if grouped else draw.randrange(1 + PARTS),
            case=case(draw, ranks),
            in_background=draw.random() < 0.4,
        )
        for _ in range(draw.randint(1, 4))
    ]
    return Step(number, grouped, calls)


def case(draw: random.Random, ranks: int) -> Case | None:
    """One collective, of any kind, type, size and place."""
    collective = draw.choice([*NUMBERS, ALL_TO_ALL_V, BARRIER])
    if collective == BARRIER:
        return None
    dtype = draw.choice(DTYPES)
    total = int(LARGEST_BYTES ** draw.random()) // numpy_dtype(dtype).itemsize
    return Case(
        collective=collective,
        dtype=dtype,
        op=draw.choice(list(Redop)),
        count=0 if draw.random() < 0.05 else total if collective in WHOLE else total // ranks,
        in_place=draw.random() < 0.5,
        root=draw.choice(ROOTS),
        guard=draw.randint(1, 64),
    )


def colors(seed: int, ranks: int, number: int) -> list[list[tuple[int | None, int]]]:
    """For each communicator to be split off before a step: color and key of every rank; some take no part."""
    draw = random.Random(f"{seed} parts {number // STEPS_PER_PARTS}")
    return [
        [(None if draw.random() < 0.1 else draw.randrange(2), draw.randrange(ranks)) for _ in range(ranks)]
        for _ in range(PARTS)
    ]
