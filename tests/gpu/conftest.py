# SPDX-License-Identifier: Apache-2.0
"""GPUs for every test of this folder that asks for them: fake or real."""

import shutil
from collections.abc import Callable

import pytest
from tests.gpu.fake_gpus import COMPILER, environment

from railgauge._native import collectives as native
from railgauge.topo.errors import UnavailableError


@pytest.fixture(scope="session")
def fake_gpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """`fake_gpus(3, faults="cuInit=803", memory=1 << 30)`: an environment for processes, with so many GPUs."""
    if shutil.which(COMPILER[0]) is None:
        pytest.skip(f"no {COMPILER[0]} to build a fake libcuda with")
    folder = tmp_path_factory.mktemp("gpus")
    return lambda count, **more: environment(folder, count, **more)


@pytest.fixture(scope="module")
def gpu() -> native.GpuPatterns:
    """What makes and checks data on the first GPU that CUDA shows this process."""
    try:
        return native.GpuPatterns(0, 60.0)
    except UnavailableError as error:
        pytest.skip(f"needs a GPU: {error}")
