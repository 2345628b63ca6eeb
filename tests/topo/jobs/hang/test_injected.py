# SPDX-License-Identifier: Apache-2.0
"""Faults that are injected into random jobs: the ranks at fault are named, those alone, by one finding that FAILs."""

import itertools
import re

import pytest
from tests.topo.jobs.hang.jobs import FAULTS, VERSIONS, dumps, faulty, job
from tests.topo.jobs.hang.reading import scene_of, up_to, write_dumps
from tests.topo.jobs.hang.test_flight_dump import scene_of_dumps

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.hang.verdict import verdict

SEEDS = 40


def loud(scene):
    return [one for one in verdict(scene).findings if one.level in (Level.FAIL, Level.WARN)]


def check(scene, culprit, identifier):
    (finding,) = loud(scene)
    assert (finding.id, finding.level) == (identifier, Level.FAIL)
    if identifier == "operation-mismatch":
        assert finding.message.startswith(f"rank {culprit} called ") or f": rank {culprit} called " in finding.message
    else:
        assert finding.evidence["ranks"] == [culprit]


@pytest.mark.parametrize(("fault", "seed"), [*itertools.product(FAULTS, range(SEEDS))])
def test_the_injected_rank_is_named_alone(fault, seed):
    made, culprit, identifier = faulty(seed, fault)
    lost = (culprit,) if fault == "lost" else ()
    check(scene_of_dumps(dumps(made, without=lost)), culprit, identifier)


@pytest.mark.parametrize(("fault", "version"), [*itertools.product(("idle", "gpu", "size"), VERSIONS)])
@pytest.mark.parametrize("as_json", [False, True])
def test_in_every_version_of_the_format(tmp_path, fault, version, as_json):
    made, culprit, identifier = faulty(7, fault)
    check(scene_of(write_dumps(tmp_path, dumps(made, version), as_json=as_json)), culprit, identifier)


@pytest.mark.parametrize(("fault", "backend"), [*itertools.product(("idle", "gpu", "other"), ("gloo", "xccl"))])
def test_of_other_back_ends(fault, backend):
    made, culprit, identifier = faulty(11, fault)
    check(scene_of_dumps(dumps(made, backend=backend)), culprit, identifier)


@pytest.mark.parametrize(("fault", "seed"), [*itertools.product(("idle", "gpu", "size"), range(SEEDS))])
def test_a_ring_that_has_lost_its_beginning(fault, seed):
    made, culprit, identifier = faulty(seed, fault)
    found = loud(scene_of_dumps(dumps(made, ring=12)))
    assert [one.id for one in found] in ([identifier], [])
    assert all(culprit in one.evidence.get("ranks", [culprit]) for one in found)


@pytest.mark.parametrize("seed", range(10))
def test_a_job_without_a_fault(seed):
    made, _ = job(seed)
    made.run()
    assert verdict(scene_of_dumps(dumps(made))).findings == ()


@pytest.mark.parametrize("fault", ["idle", "gpu"])
def test_the_first_records_have_no_names_of_groups(tmp_path, fault):
    """A list of entries; of the groups only that of all ranks is known, which is enough where the fault is in it."""
    ranks = range(4)
    entries = {rank: up_to(20, waits=18 if fault == "idle" or rank == 2 else None) for rank in ranks}
    if fault == "idle":
        entries[2] = up_to(17)
    old = {
        rank: [
            {key: one[key] for key in OLDEST} | {"seq_id": one["collective_seq_id"], "pg_id": 0}
            for one in entries[rank]
        ]
        for rank in ranks
    }
    other = {"seq_id": 3, "pg_id": 1, "profiling_name": "nccl:all_reduce", "state": "scheduled"}
    path = write_dumps(tmp_path, {rank: [*some, other] for rank, some in old.items()})
    check(scene_of(path), 2, "rank-behind" if fault == "idle" else "rank-stuck")


OLDEST = ("profiling_name", "time_created_ns", "input_sizes", "output_sizes", "state", "retired", "frames")


@pytest.mark.parametrize(("fault", "seed"), [*itertools.product(("idle", "lost"), range(20))])
def test_two_ranks_at_fault_are_both_named(fault, seed):
    made, rng = job(seed)
    first = rng.randrange(len(made.program))
    second = rng.choice([rank for rank in made.program if rank != first])
    for rank in (first, second):
        made.host[rank] = next(n for n, op in enumerate(made.program[rank]) if op.group == "0" and op.peer < 0)
    made.run()
    lost = (first, second) if fault == "lost" else ()
    scene = scene_of_dumps(dumps(made, without=lost))
    if lost and 2 * len(lost) >= len(made.program):  # half of the dumps were not collected: nobody is at fault for that
        assert {one.id for one in verdict(scene).findings} == {"evidence-short"}
        return
    assert {rank for one in loud(scene) for rank in one.evidence["ranks"]} == {first, second}
    assert all(one.level is Level.FAIL for one in loud(scene))


def sends(made):
    return [(rank, op) for rank, ops in made.program.items() for op in ops if op.kind == "send"]


def of_pairs(made):
    return [op for ops in made.program.values() for op in ops if op.peer < 0 and len(made.groups[op.group]) == 2]


@pytest.mark.parametrize("seed", [seed for seed in range(60) if sends(job(seed)[0])])
def test_a_message_of_another_size(seed):
    made, rng = job(seed)
    rank, op = rng.choice(sends(made))
    op.elements += 8
    made.run()
    (finding,) = loud(scene_of_dumps(dumps(made)))
    assert (finding.id, finding.level) == ("operation-mismatch", Level.FAIL)
    assert {f"rank {rank}", f"rank {op.peer}"} <= {*re.findall(r"rank \d+", finding.message)}


@pytest.mark.parametrize("seed", [seed for seed in range(30) if of_pairs(job(seed)[0])])
@pytest.mark.parametrize("fault", ["size", "other"])
def test_a_pair_that_disagrees_is_named_whole(fault, seed):
    made, rng = job(seed)
    op = rng.choice(of_pairs(made))
    op.kind, op.elements = ("broadcast", op.elements) if fault == "other" else (op.kind, op.elements + 8)
    made.run()
    (finding,) = loud(scene_of_dumps(dumps(made)))
    assert finding.id == "operation-mismatch"
    assert {f"rank {one}" for one in made.groups[op.group]} <= {*re.findall(r"rank \d+", finding.message)}
