# SPDX-License-Identifier: Apache-2.0
"""Paths of known machines are NCCL's own answers, where those are at hand."""

import json
from pathlib import Path

import pytest

from railgauge.topo import xml
from railgauge.topo.merged_nics import merge_nics
from railgauge.topo.paths import paths
from railgauge.topo.system import build_system

GOLDEN = sorted((Path(__file__).parents[3] / "shared" / "golden").glob("*.json"))


@pytest.mark.skipif(not GOLDEN, reason="NCCL's answers are not here")
@pytest.mark.parametrize("initial", sorted({path.name[0] for path in GOLDEN}))
def test_paths_are_those_of_nccl(initial):
    wrong = []
    for path in (path for path in GOLDEN if path.name.startswith(initial)):
        answer = json.loads(path.read_text())
        topology = xml.loads(answer["topo"])
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
