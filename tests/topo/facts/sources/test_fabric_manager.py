# SPDX-License-Identifier: Apache-2.0
"""The release of the fabric manager, by the program that tells it."""

import pytest

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources.fabric_manager import live_fabric_manager, read_fabric_manager


def program(folder, script):
    path = folder / "nv-fabricmanager"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "release"),
    [
        ("echo; echo 'Fabric Manager version is : 535.161.08'", "535.161.08"),
        ("echo nothing of that", None),
        ("sleep 60", None),
        ("exit 1", None),
    ],
)
def test_what_the_program_tells(tmp_path, script, release):
    answer = live_fabric_manager(program(tmp_path, script), timeout_s=0.2 if script == "sleep 60" else 5.0)
    assert misfit(answer, "facts/fabric_manager.json") is None
    assert ("error" in answer) is (release is None)
    assert read_fabric_manager(CaptureReader(Capture(manifest={}, facts={"fabric_manager": answer}))) == release


def test_a_machine_without_it(tmp_path):
    assert live_fabric_manager(str(tmp_path / "none")) == {"release": None}
    assert read_fabric_manager(CaptureReader(Capture(manifest={}))) is None
