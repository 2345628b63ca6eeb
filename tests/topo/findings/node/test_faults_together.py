# SPDX-License-Identifier: Apache-2.0
"""Machines with several faults at once: each is still found, with its device, whatever else is wrong."""

import random

import pytest
from tests.cli.command import in_process
from tests.topo.findings.node.cases import alarms, case, changed
from tests.topo.findings.node.planted import FAULTS

from railgauge.topo.facts.capture import dumps

SEEDS = range(40)
MOST = 4
HIDERS = {"verbs-provider-missing", "verbs-device-missing", "ib-port-down"}
"""A NIC that verbs does not show, or a port that is down, has no GIDs and no rate to judge."""
HIDDEN = {"rail-unreachable", "gid-table-holes", "gid-index-invalid", "ib-rate-low"}


def compatible(one, others):
    """Whether a fault changes nothing that others change: neither the same, nor a part of it."""
    mine = [(kind, key) for kind in ("files", "facts", "settings") for key in one.get(kind) or {}]
    theirs = [
        (kind, key) for other in others for kind in ("files", "facts", "settings") for key in other.get(kind) or {}
    ]
    return not any(
        kind == beside and (key.startswith(other) or other.startswith(key))
        for kind, key in mine
        for beside, other in theirs
    )


def drawn(seed):
    """Some faults of one machine that can stand together."""
    draw = random.Random(seed)
    first = draw.choice(list(FAULTS))
    base = FAULTS[first][0]
    names = [first]
    for name in draw.sample(list(FAULTS), len(FAULTS)):
        there = [FAULTS[one][1] for one in names]
        if len(names) < MOST and name not in names and FAULTS[name][0] == base and compatible(FAULTS[name][1], there):
            names.append(name)
    return base, names


def together(names):
    """The changes of several faults as one."""
    merged = {}
    for name in names:
        for kind, changes in FAULTS[name][1].items():
            merged[kind] = {**(merged.get(kind) or {}), **(changes or {})}
    return merged


@pytest.mark.parametrize("seed", SEEDS)
def test_each_fault_is_found_beside_others(seed):
    base, names = drawn(seed)
    found = {(name, subject) for name, _, subject in alarms(case(base, **together(names)))}
    wanted = {(name, subject) for fault in names for name, _, subject in FAULTS[fault][2]}
    hidden = HIDDEN if HIDERS & {name for name, _ in wanted} else set()
    assert {(name, subject) for name, subject in wanted if name not in hidden} <= found, names


@pytest.mark.parametrize("fault", random.Random(0).sample(list(FAULTS), 12))
def test_a_broken_machine_never_ends_with_0(fault, tmp_path):
    name, changes, expected = FAULTS[fault]
    path = tmp_path / "node.tar.gz"
    path.write_bytes(dumps(changed(name, **changes), ".tar.gz"))
    done = in_process("check", "--from", str(path))
    assert done.returncode == 1
    assert all(one in done.stdout for one, _, _ in expected)
