# SPDX-License-Identifier: Apache-2.0
"""Where all ranks stand, folded into one sentence: `ranks 0-6 wait in all_reduce #41 for rank 7, which is in broadcast
#40`; and where they part: the first operation that not all of them called alike.

What ranks tell of themselves comes from the network, so that it is printed with care.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from railgauge.topo.sources.printable import printable
from railgauge.transports.blame import NOBODY, Waits, chain
from railgauge.transports.group import WORLD
from railgauge.transports.rank_names import name_ranks
from railgauge.transports.standing import Operation, Standing, current

Standings: TypeAlias = Mapping[int, list[Standing]]
"""By rank; a rank that did not answer is not there."""
Call: TypeAlias = tuple[str, int, str, str, int]
"""What all ranks have to agree on."""
FIELDS = ("collectives", "counts", "types", "operators", "roots")
MOST_CLAUSES = 6


def draw(standings: Standings, late: int = -1) -> str:
    """Say who waits in what for whom, and where the rank that holds them up stands; empty when nobody waits.

    Those who wait for a rank that waits for `late` wait for `late`.
    """
    at = {rank: found for rank, all_of_it in standings.items() if (found := current(all_of_it))}
    chains = waits(standings)
    groups: dict[tuple[str, int], list[int]] = {}
    for rank, standing in sorted(at.items()):
        if standing.running and rank != late:
            for_whom = late if late in chain(chains, rank) else standing.waits[0]
            groups.setdefault((name_operation(standing, standing.running), for_whom), []).append(rank)
    ordered = sorted(groups.items(), key=lambda group: (group[0][1] != late, -len(group[1])))
    clauses = [_clause(ranks, operation, for_whom) for (operation, for_whom), ranks in ordered]
    if clauses and late >= 0:
        if ordered[0][0][1] == late:
            clauses[0] += f", which {_stands(standings, late)}"
        else:
            clauses.insert(0, f"rank {late} {_stands(standings, late)}")
    if len(clauses) > MOST_CLAUSES:
        clauses = [*clauses[: MOST_CLAUSES - 1], "and more"]
    return "; ".join(clauses)


def parting(standings: Standings) -> str:
    """Name the first operation that ranks called differently, and how; empty when there is none."""
    for communicator in sorted({each.communicator for some in standings.values() for each in some}):
        calls, members = _calls(standings, communicator)
        for number, by_call in sorted(calls.items()):
            if len(by_call) > 1:
                ordered = sorted(by_call.items(), key=lambda group: (-len(group[1]), group[1]))
                who = "; ".join(f"{name_ranks(ranks)} called {_describe_call(call)}" for call, ranks in ordered)
                return f"ranks part at operation #{number}{_among(communicator, members)}: {who}: {_differ(by_call)}"
    return ""


def waits(standings: Standings) -> dict[int, Waits]:
    """Whom each rank that answered waits for."""
    found = {rank: current(some) for rank, some in standings.items()}
    return {rank: standing.waits if standing else NOBODY for rank, standing in found.items()}


def _calls(standings: Standings, communicator: int) -> tuple[dict[int, dict[Call, list[int]]], list[int]]:
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
    return operation.collective, operation.count, operation.dtype, operation.op, operation.root


def describe(operation: Operation) -> str:
    """`all_reduce of 1024 float, sum`."""
    return _describe_call(_call(operation))


def _describe_call(call: Call) -> str:
    collective, count, dtype, op, root = call
    also = (f", {printable(op)}" if op else "") + (f", root {root}" if root >= 0 else "")
    return f"{printable(collective)} of {count} {printable(dtype)}{also}"


def _differ(calls: Iterable[Call]) -> str:
    """`counts differ`; when it is the collectives, the rest does not matter."""
    different = [name for name, values in zip(FIELDS, zip(*calls, strict=True), strict=True) if len(set(values)) > 1]
    return f"{' and '.join(different[:1] if different[0] == FIELDS[0] else different)} differ"


def _clause(ranks: list[int], operation: str, for_whom: int) -> str:
    several = len(ranks) > 1
    if for_whom < 0:
        return f"{name_ranks(ranks)} {'are' if several else 'is'} in {operation}"
    return f"{name_ranks(ranks)} {'wait' if several else 'waits'} in {operation} for rank {for_whom}"


def _stands(standings: Standings, rank: int) -> str:
    if rank not in standings:
        return "does not answer"
    standing = current(standings[rank])
    if standing is None or not standing.operations:
        return "has called no collective yet"
    operation = name_operation(standing, standing.operations[-1])
    if not standing.running:
        return f"has called none since {operation}"
    other, frees_slot = standing.waits
    if other < 0:
        return f"is in {operation}"
    return f"waits in {operation} for {'a free slot of ' if frees_slot else ''}rank {other}"


def name_operation(standing: Standing, operation: Operation) -> str:
    """`all_reduce #41`, with the ranks of a communicator that is not of all."""
    return f"{printable(operation.collective)} #{operation.number}{_among(standing.communicator, standing.ranks)}"


def _among(communicator: int, ranks: list[int]) -> str:
    return "" if communicator == WORLD or not ranks else f" among {name_ranks(ranks)}"
