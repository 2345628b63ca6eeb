# SPDX-License-Identifier: Apache-2.0
"""Machines of which only a part was read: each rule answers, and what nobody could read is never a pass."""

import random

import pytest
from tests.topo.findings.node.cases import capture, case, health, healthy

from railgauge.topo.facts.shapes import FACTS, misfit
from railgauge.topo.findings.node.rules import check

NAME = "dgx-h100"
PATHS = sorted([*capture(NAME).texts, *capture(NAME).links])
EMPTY = {name: {} for name in FACTS if misfit({}, f"facts/{name}.json") is None}
READ_BY = {
    "shm-too-small": "shared_memory",
    "shm-leftovers": "shared_memory",
    "memlock-low": "process",
    "acs-enabled": "pci_config",
    "verbs-device-missing": "verbs",
}
"""Rules that one fact alone answers."""


def half(seed):
    """Some of the files and links of a machine are missing or empty."""
    draw = random.Random(seed)
    return {path: draw.choice((None, "")) for path in draw.sample(PATHS, len(PATHS) // 2)}


HALVES = {
    "no answers": {"facts": dict.fromkeys(FACTS)},
    "empty answers": {"facts": EMPTY},
    "no files": {"files": {"/sys": None, "/proc": None}},
    "empty files": {"files": dict.fromkeys(capture(NAME).texts, "")},
    "half of the files": {"files": half(1)},
}


@pytest.mark.parametrize("missing", HALVES)
def test_no_rule_fails_on_a_half_read_machine(missing):
    found = check(case(NAME, **HALVES[missing]))
    assert not [one for one in found if one.error]
    if missing in ("no answers", "empty answers"):
        assert {one.level for one in found if one.id in READ_BY} <= {"UNKNOWN"}


def test_a_gpu_that_nvml_loses_midway_costs_its_own_readings():
    gpus = healthy().facts["nvml"]["gpus"]
    gone = {"index": 3, "pci": None, "cc": None, "error": "GPU is lost"}
    found = check(case(NAME, facts={"nvml.gpus": [*gpus[:3], gone, *gpus[4:]]}))
    assert [(one.id, one.subject) for one in found if one.level == "FAIL"] == [("gpu-lost", "0000:61:00.0")]


def test_health_that_ends_midway_is_judged_as_far_as_it_goes():
    gpus = healthy().facts["gpu_health"]["gpus"][:3]
    error = "NVML did not answer within 30 s in nvmlDeviceGetPciInfo of GPU3"
    gpus = [gpus[0], {**gpus[1], "recovery_action": 2}, gpus[2]]
    found = [one for one in check(health(gpus=gpus, error=error)) if one.id == "gpu-recovery-needed"]
    assert [(one.level, one.subject) for one in found] == [("FAIL", "0000:43:00.0"), ("UNKNOWN", "node")]
    assert found[1].message == error
