# SPDX-License-Identifier: Apache-2.0
"""A build without GPU kernels where GPUs are: it says which to take instead."""

import pytest
from tests.cli.command import refused

from railgauge._native import collectives as native
from railgauge.cli.run.remarks import remarks_on
from railgauge.collectives.device import AUTO, Device, resolve

TAKE = "install a wheel that scripts/wheel made where nvcc is"


@pytest.fixture(autouse=True)
def gpus_without_kernels(monkeypatch):
    monkeypatch.setattr(native, "gpu_count", lambda: 2)
    monkeypatch.setattr(native, "has_gpu_kernels", lambda: False)


def test_ranks_that_use_host_memory_say_what_they_lack():
    assert resolve(AUTO) is Device.CPU
    (remark,) = remarks_on(AUTO, 0, {})
    assert remark.startswith("ranks use host memory: this railgauge was built without GPU kernels")
    assert TAKE in remark


def test_ranks_that_are_to_use_gpus_are_refused():
    done = refused("--device", "cuda", "-g", "2")
    assert done.returncode == 3
    assert TAKE in done.stderr
