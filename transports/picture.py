# SPDX-License-Identifier: Apache-2.0
"""The state of all ranks in one sentence: `ranks 0-6 wait in all_reduce #41 for rank 7, which is in broadcast #40`;
#and where they diverge: the first operation that not all of them called in the same way.

What ranks report comes from the network, so it is made printable.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from railgauge.topo.values.printable import one_line
from railgauge.transports.blame import NOBODY, Waits, chain
from railgauge.transports.group import WORLD
from railgauge.transports.rank_names import name_ranks
from railgauge.transports.standing import Operation, Standing, current

Call: TypeAlias = tuple[str, int, str, str, int]
"""What all ranks have to agree on."""
FIELDS = ("collectives", "counts", "types", "operators", "roots")
MOST_CLAUSES = 6


@dataclass(frozen=True, slots=True)
class RankStates:
    """The ranks' states."""

    standings: Mapping[int, list[Standing]]
    """By rank; a rank that did not answer is absent."""
    left: Collection[int] = ()
    """Ranks that have ended as planned."""
    exchanging: Collection[int] = ()
    """Ranks that wait in an exchange of the bootstrap."""

    @property
    def waits(self) -> dict[int, Waits]:
        """Which rank each rank that answered waits for."""
        found = {rank: current(some) for rank, some in self.standings.items()}
        return {rank: standing.waits if standing else NOBODY for rank, standing in found.items()}


def draw(scene: RankStates, late: int = -1) -> str:
    """Say which ranks wait in which operation for which rank, and what those are doing; empty when nobody is in an
    operation.

    Those who wait for a rank that waits for another one wait for that one, and all that wait for `late` in the end for
    `late`.
    """
    waits = scene.waits
    clauses: list[str] = []
    told: set[int] = set()
    for (operation, whom), ranks in _alike(scene, waits, late):
        clause = _clause(ranks, operation, whom)
        if whom >= 0 and whom not in told and (whom == late or waits.get(whom, NOBODY)[0] < 0):
            clause += f", which {_stands(scene, whom)}"
            told.add(whom)
        clauses.append(clause)
    if clauses and late >= 0 and late not in told:
        clauses.insert(0, f"rank {late} {_stands(scene, late)}")
    if len(clauses) > MOST_CLAUSES:
        clauses = [*clauses[: MOST_CLAUSES - 1], "and more"]
    return "; ".join(clauses)


def _alike(scene: RankStates, waits: Mapping[int, Waits], late: int) -> list[tuple[tuple[str, int], list[int]]]:
    """The ranks that are in one operation and wait for one rank in the end; those that wait for `late` come first."""
    groups: dict[tuple[str, int], list[int]] = {}
    for rank, some in sorted(scene.standings.items()):
        standing = current(some)
        if standing and standing.running and rank != late:
            operation = name_operation(standing, standing.running)
            groups.setdefault((operation, _end(waits, rank, late)), []).append(rank)
    return sorted(groups.items(), key=lambda group: (group[0][1] != late, -len(group[1])))


def _end(waits: Mapping[int, Waits], rank: int, late: int) -> int:
    """The rank that a rank waits for in the end: `late` if the chain includes it, its neighbour in a circle; -1:
    nobody.
    """
    ranks = chain(waits, rank)
    if late in ranks:
        return late
    in_circle = waits.get(ranks[-1], NOBODY)[0] >= 0
    return waits[rank][0] if in_circle else ranks[-1] if len(ranks) > 1 else -1


def parting(standings: Mapping[int, list[Standing]]) -> str:
    """Name the first operation that ranks called differently, and the difference; empty when there is none."""
    for communicator in sorted({each.communicator for some in standings.values() for each in some}):
        calls, members = _calls(standings, communicator)
        for number, by_call in sorted(calls.items()):
            if len(by_call) > 1:
                ordered = sorted(by_call.items(), key=lambda group: (-len(group[1]), group[1]))
                who = "; ".join(f"{name_ranks(ranks)} called {_describe_call(call)}" for call, ranks in ordered)
                return f"ranks diverge at operation #{number}{_among(communicator, members)}: {who}: {_differ(by_call)}"
    return ""


def _calls(
    standings: Mapping[int, list[Standing]], communicator: int
) -> tuple[dict[int, dict[Call, list[int]]], list[int]]:
    """Who called what, by number, and the communicator's ranks."""
    calls: dict[int, dict[Call, list[int]]] = {}
    members: list[int] = []
    for rank, some in sorted(standings.items()):
        for standing in some:
            if standing.communicator == communicator:
                members = standing.ranks
                for each in standing.operations:
                    calls.setdefault(each.number, {}).setdefault(_call(each), []).append(rank)
    return calls, members


def _call(operation: Operation) -> Call:
    return operation.collective, operation.elements, operation.dtype, operation.op, operation.root


def describe(operation: Operation) -> str:
    """`all_reduce of 1024 float, sum`."""
    return _describe_call(_call(operation))


def details(operation: Operation) -> str:
    """`of 1024 float, sum`."""
    return _details(_call(operation))


def _describe_call(call: Call) -> str:
    return f"{one_line(call[0])} {_details(call)}".rstrip()


def _details(call: Call) -> str:
    collective, count, dtype, op, root = call
    if collective == "barrier":
        return ""
    also = (f", {one_line(op)}" if op else "") + (f", root {root}" if root >= 0 else "")
    return f"of {count} {one_line(dtype)}{also}"


def _differ(calls: Iterable[Call]) -> str:
    """`counts differ`; if the collectives differ, the rest does not matter."""
    different = [name for name, values in zip(FIELDS, zip(*calls, strict=True), strict=True) if len(set(values)) > 1]
    return f"{' and '.join(different[:1] if different[0] == FIELDS[0] else different)} differ"


def _clause(ranks: list[int], operation: str, for_whom: int) -> str:
    several = len(ranks) > 1
    if for_whom < 0:
        return f"{name_ranks(ranks)} {'are' if several else 'is'} in {operation}"
    return f"{name_ranks(ranks)} {'wait' if several else 'waits'} in {operation} for rank {for_whom}"


def _stands(scene: RankStates, rank: int) -> str:
    if rank in scene.left:
        return "has left"
    if rank not in scene.standings:
        return "does not answer"
    standing = current(scene.standings[rank])
    if rank in scene.exchanging and not (standing and standing.running):
        return "waits in an exchange"
    if standing is None or not standing.operations:
        return "has not called a collective yet"
    operation = name_operation(standing, standing.operations[-1])
    if not standing.running:
        return f"has called no collective since {operation}"
    other, frees_slot = standing.waits
    if other < 0:
        return f"is in {operation}"
    return f"waits in {operation} for {'a free slot of ' if frees_slot else ''}rank {other}"


def name_operation(standing: Standing, operation: Operation) -> str:
    """`all_reduce #41`, with the ranks of a communicator that is not of all."""
    return f"{one_line(operation.collective)} #{operation.number}{_among(standing.communicator, standing.ranks)}"


def _among(communicator: int, ranks: list[int]) -> str:
    return "" if communicator == WORLD or not ranks else f" among {name_ranks(ranks)}"
