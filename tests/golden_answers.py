# SPDX-License-Identifier: Apache-2.0
"""Topologies with their paths and graphs: NCCL's own answers from the folder of `--golden`, and ours from tests/golden.

Ours are of machines from fixtures/ (tests/topo/test_own_answers.py writes them), so that what is held against NCCL's
answers is held against something where those are not at hand.
"""

import json
from pathlib import Path
from typing import Any

import pytest

OWN = Path(__file__).parent / "golden"
FIELDS = {
    "pattern": "pattern",
    "crossNic": "cross_nic",
    "bwIntra": "gb_per_s_intra",
    "bwInter": "gb_per_s_inter",
    "typeIntra": "type_intra",
    "typeInter": "type_inter",
    "sameChannels": "same_channels",
}
"""Of a graph, by NCCL's names, as the answers have them: ours."""
BESIDE = Path(__file__).parents[2] / "shared" / "golden"


def folders(config: pytest.Config) -> list[Path]:
    """Where there are answers; ours come last."""
    named = config.getoption("--golden")
    if named is not None and not any(named.glob("*.json")):
        raise pytest.UsageError(f"--golden {named}: there are no answers (*.json) in it")
    return [folder for folder in (named or BESIDE, OWN) if folder.is_dir()]


def files(config: pytest.Config) -> list[Path]:
    """All of them."""
    return [path for folder in folders(config) for path in sorted(folder.glob("*.json"))]


def named(config: pytest.Config, *names: str) -> list[Path]:
    """Those of these names that are there."""
    return [path for path in files(config) if path.stem in names]


def read(path: Path) -> dict[str, Any]:
    """One of them."""
    return json.loads(path.read_text())
