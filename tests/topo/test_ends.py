# SPDX-License-Identifier: Apache-2.0
"""The ends of a path by the names people use."""

import pytest

from railgauge.topo.ends import find_end
from railgauge.topo.machine import load_machine
from railgauge.topo.system import build_system

SYSTEM = build_system(load_machine("@h200x4").topology)


@pytest.mark.parametrize("name", ["GPU0", "gpu0", "GPU/0-60", "0000:00:06.0", "00000000:00:06.0"])
def test_a_gpu_by_all_its_names(name):
    assert find_end(SYSTEM, name).id == "GPU/0-60"
