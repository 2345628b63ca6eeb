# SPDX-License-Identifier: Apache-2.0
"""Standings of ranks, as tests need them."""

from collections.abc import Sequence

from railgauge.transports.standing import BlockedOn, Operation, Standing

EVERYBODY = (0, 1, 2)


def at(
    collective: str,
    number: int,
    waits_for: int,
    *,
    frees_slot: bool = False,
    communicator: int = 0,
    ranks: Sequence[int] = EVERYBODY,
    took_us: float = -1.0,
    count: int = 64,
    dtype: str = "float",
    op: str = "sum",
    root: int = -1,
) -> Standing:
    """A rank in an operation, waiting for another (-1: for none)."""
    operation = Operation(number, collective, count, dtype, op, root, "ring", 1, 1e9, took_us)
    return Standing(communicator, list(ranks), [operation], BlockedOn(waits_for, frees_slot, 0, 5))


def called(collective: str, number: int, **others: object) -> Standing:
    """A rank that has come out of an operation."""
    return at(collective, number, -1, **{"took_us": 12.5} | others)  # type: ignore[arg-type]


def idle() -> Standing:
    """A rank that has called nothing."""
    return Standing(0, list(EVERYBODY), [], BlockedOn())
