# SPDX-License-Identifier: Apache-2.0
"""GPUs that are made up, for every test of this folder that asks for them."""

import shutil
from collections.abc import Callable

import pytest
from tests.gpu import fake_gpus as made_up


@pytest.fixture(scope="session")
def fake_gpus() -> Callable[..., dict[str, str]]:
    """`fake_gpus(3, faults="cuInit=803", memory=1 << 30)`: an environment for processes, with so many GPUs."""
    if why := made_up.why_no_kernels():
        pytest.skip(why)
    if shutil.which(made_up.COMPILER[0]) is None:
        pytest.skip(f"no {made_up.COMPILER[0]} to build a made-up libcuda with")
    libraries = made_up.libraries()
    return lambda count, **more: made_up.environment(libraries, count, **more)
