# SPDX-License-Identifier: Apache-2.0
"""Paths of known machines are NCCL's own answers, where those are at hand; else, and always, ours as committed."""

import pytest
from tests import golden_answers

from railgauge.topo.nccl.detect.merged_nics import merge_nics
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.xml import topology_file


def pytest_generate_tests(metafunc):
    initials = sorted({(path.parent, path.name[0]) for path in golden_answers.files(metafunc.config)})
    metafunc.parametrize(("folder", "initial"), initials, ids=[f"{folder.parent.name}-{i}" for folder, i in initials])


def test_paths_are_those_of_nccl(folder, initial):
    wrong = []
    for path in sorted(folder.glob(f"{initial}*.json")):
        answer = golden_answers.read(path)
        topology = topology_file.loads(answer["topo"])
        if "--merge-nics" in answer["options"]:
            topology = merge_nics(topology)
        table = paths(build_system(topology), p2p="--no-nvml-p2p" not in answer["options"])
        wrong += [f"{path.stem}: {line}" for mode in ("intra", "inter") for line in differences(table, answer[mode])]
    assert wrong == []


def differences(table, answer):
    """Pairs that no row of NCCL's agrees with: where a file names a NIC twice it has two rows for one pair."""
    wanted = {}
    for source, target, kind, hops, speed, *_ in answer.get("paths", ()):
        if kind != "DIS":
            wanted.setdefault((source, target), []).append((kind, hops, speed))
    for pair, rows in wanted.items():
        path = table.get(*pair)
        if not any(
            (path.type, path.hops) == row[:2] and path.gb_per_s == pytest.approx(row[2], abs=0.06) for row in rows
        ):
            yield f"{pair} is {path.type}/{path.hops}/{path.gb_per_s}, NCCL {rows}"
