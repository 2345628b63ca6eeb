# SPDX-License-Identifier: Apache-2.0
"""Random jobs that are run step by step until a fault stops them, and the flight records that their ranks leave.

A rank's host enqueues its operations ahead of its GPU, which runs them one after another. An operation is over on a
rank once all its ranks have come to it; the faults are those of real jobs.
"""

import random
from dataclasses import dataclass, field

from tests.topo.jobs.hang.reading import entry

AHEAD = 6
"""Operations that a host enqueues ahead."""
FAULTS = {
    "idle": "rank-behind",
    "gpu": "rank-stuck",
    "size": "operation-mismatch",
    "other": "operation-mismatch",
    "lost": "rank-missing",
}
"""What happens to a rank, and the finding that it has to have."""


@dataclass
class Op:
    """An operation of a rank: kind is a collective's name, or "send", "recv" with a peer."""

    kind: str
    group: str
    number: int
    elements: int
    peer: int = -1


@dataclass
class Job:
    """`groups` by name; `program` by rank; how far the rank's GPU has come, and its host may go."""

    groups: dict[str, tuple[int, ...]]
    program: dict[int, list[Op]]
    over: dict[int, int] = field(default_factory=dict)
    host: dict[int, int] = field(default_factory=dict)
    stuck: dict[int, int] = field(default_factory=dict)

    def ahead(self, rank):
        """How many operations the host has enqueued."""
        return min(self.over[rank] + AHEAD, self.host.get(rank, len(self.program[rank])), len(self.program[rank]))

    def head(self, rank):
        """The operation in which a rank's GPU is; None where there is none."""
        at = self.over[rank]
        return self.program[rank][at] if at < self.ahead(rank) else None

    def run(self):
        """Until nothing moves."""
        self.over = dict.fromkeys(self.program, 0)
        moving = True
        while moving:
            moving = False
            for rank in self.program:
                while (op := self.head(rank)) and self._together(rank, op):
                    moving = True

    def _together(self, rank, op):
        """Whether all have come to an operation; then it is over on all of them but the one whose GPU is stuck."""
        members = (rank, op.peer) if op.peer >= 0 else self.groups[op.group]
        heads = {one: self.head(one) for one in members}
        if not all(other and _same(op, other, rank, one) for one, other in heads.items()):
            return False
        if len({(other.kind if op.peer < 0 else "", other.elements) for other in heads.values()}) > 1:
            return False
        done = [one for one in members if self.stuck.get(one) != self.over[one]]
        for one in done:
            self.over[one] += 1
        return rank in done


def _same(op, other, rank, one):
    if op.peer < 0 or other.peer < 0:
        return op.peer == other.peer and (op.group, op.number) == (other.group, other.number)
    between = other.peer == rank and {op.kind, other.kind} == {"send", "recv"}
    return one == rank or (between and op.number == other.number)


def job(seed):
    """Data, tensor and pipeline parallel ranks; two steps of a training loop, some of them with more collectives."""
    rng = random.Random(seed)
    tensor, stages, data = rng.choice([2, 3, 4]), rng.choice([1, 2, 3]), rng.choice([2, 3])
    size = tensor * stages * data
    at = {rank: (rank % tensor, rank // tensor % stages, rank // (tensor * stages)) for rank in range(size)}
    groups = {"0": tuple(range(size))}
    for axes, first in (((1, 2), 10), ((0, 1), 100)):  # tensor parallel, then data parallel
        keys = sorted({tuple(place[axis] for axis in axes) for place in at.values()})
        for n, key in enumerate(keys):
            groups[str(first + n)] = tuple(r for r, place in at.items() if tuple(place[axis] for axis in axes) == key)
    made = Job(groups, {rank: [] for rank in range(size)})
    of = {rank: [name for name, ranks in groups.items() if name != "0" and rank in ranks] for rank in at}
    numbers = {}

    def call(rank, kind, group, elements, peer=-1):
        key = rank, group, (kind, peer) if peer >= 0 else ""
        numbers[key] = numbers.get(key, 0) + 1
        made.program[rank].append(Op(kind, group, numbers[key], elements, peer))

    steps, layers = rng.randint(2, 4), rng.randint(1, 3)
    kinds = [rng.choice(["all_reduce", "_all_gather_base", "_reduce_scatter_base"]) for _ in range(layers)]
    for _ in range(steps):
        for rank, (_, stage, _) in at.items():
            tp, dp = of[rank]
            if stage:
                call(rank, "recv", "0", 64, rank - tensor)
            for layer, kind in enumerate(kinds):
                call(rank, kind, tp, 128 * (layer + 1))
            if stage < stages - 1:
                call(rank, "send", "0", 64, rank + tensor)
                call(rank, "recv", "0", 64, rank + tensor)
            for layer, kind in enumerate(kinds):
                call(rank, kind, tp, 256 * (layer + 1))
            if stage:
                call(rank, "send", "0", 64, rank - tensor)
            call(rank, "all_reduce", dp, 4096)
            call(rank, "all_reduce", "0", 1)
    return made, rng


def faulty(seed, fault):
    """A job with a fault, run: the job, the ranks that are at fault, and the finding that it has to have."""
    made, rng = job(seed)
    rank = rng.randrange(len(made.program))
    ops = made.program[rank]
    where = [n for n, op in enumerate(ops) if op.peer < 0 and len(made.groups[op.group]) > 2]
    if fault in ("idle", "lost"):
        made.host[rank] = rng.randrange(2, len(ops))
    elif fault == "gpu":
        where = [n for n, op in enumerate(ops) if op.peer < 0]
        made.stuck[rank] = rng.choice(where[1:])
    elif fault == "size":
        ops[rng.choice(where)].elements += 8
    else:
        ops[rng.choice(where)].kind = "broadcast"
    made.run()
    return made, rank, FAULTS[fault]


VERSIONS = ("1.5", "2.0", "2.4", "2.9", "2.10")


def dumps(made, version="2.9", *, backend="nccl", ring=2000, without=()):
    """The flight record of each rank, in the fields of a version of the format."""
    return {rank: _dump(made, rank, version, backend, ring) for rank in made.program if rank not in without}


def _dump(made, rank, version, backend, ring):
    mine = {name: ranks for name, ranks in made.groups.items() if rank in ranks}
    local = {name: n for n, name in enumerate(mine)}
    entries, sent = [], 0
    for n, op in enumerate(made.program[rank][: made.ahead(rank)]):
        state = "completed" if n < made.over[rank] else "started" if n == made.over[rank] else "scheduled"
        arrow = {"send": "->", "recv": "<-"}.get(op.kind)
        name = f"{op.kind} {rank}{arrow}{op.peer}" if arrow else op.kind
        sent += bool(arrow)
        about = "default_pg" if op.group == "0" else f"group {op.group}"
        one = entry(sent if arrow else op.number, name, state, group=op.group, about=about, elements=op.elements)
        one |= {"record_id": n, "pg_id": local[op.group], "profiling_name": f"{backend}:{name}"}
        entries.append(_of_version(one, version))
    ranks = {name: str(list(some)) if version < "2.1" else list(some) for name, some in mine.items()}
    config = {
        name: {"name": name, "desc": "default_pg" if name == "0" else f"group {name}", "ranks": some}
        for name, some in ranks.items()
    }
    return {"version": version, "pg_config": config, "entries": entries[-ring:]}


def _of_version(told, version):
    """An entry as that version of the format has it."""
    if version.startswith("1."):
        number = told.pop("collective_seq_id"), told.pop("p2p_seq_id")
        told["seq_id"] = max(number)
        for name in ("input_dtypes", "output_dtypes", "is_p2p", "timeout_ms"):
            del told[name]
    elif version == "2.0":
        for name in ("input_dtypes", "output_dtypes", "timeout_ms"):
            del told[name]
    return told
