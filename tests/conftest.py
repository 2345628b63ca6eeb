# SPDX-License-Identifier: Apache-2.0
"""Expected files: `expect(path, text)` compares, and `pytest --update-expected` writes them anew (review the diff)."""

import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest

DRIVER = Path("/dev/nvidiactl")
GPU_TESTS = Path(__file__).parent / "gpu"
OF_NCCL = ("NCCL_", "NVSHMEM_", "RCCL_", "TORCH_NCCL_", "TORCH_SYMM_MEM_")

# An example that takes long says how busy the machine is; what hangs is ended by pytest's timeout. Every run draws
# other examples, so a run takes few.
hypothesis.settings.register_profile("railgauge", deadline=None, max_examples=30)
hypothesis.settings.load_profile("railgauge")

# A shell's background jobs ignore interrupts, what nohup starts ignores hangups, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser):
    parser.addoption("--update-expected", action="store_true", help="write expected files instead of comparing")
    parser.addoption(
        "--golden",
        type=Path,
        metavar="DIR",
        help="NCCL's recorded answers (*.json; default: ../shared/golden where that is); tests/golden has our own",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What stays until the end is not looked through in each collection of garbage, and there are fewer of them: a
    sixth of all CPU time, and a fifth of that in which tests are collected.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()


@pytest.fixture(autouse=True)
def _the_machine_of_the_tests(request, monkeypatch):
    """Elsewhere than in tests/gpu: no GPUs, for tests expect host memory, and no settings of NCCL from outside."""
    if GPU_TESTS in request.path.parents:
        return
    if DRIVER.exists():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    for name in [name for name in os.environ if name.startswith(OF_NCCL)]:
        monkeypatch.delenv(name)


@pytest.fixture
def expect(request):
    """Compare a text with the file that holds what is expected of it."""

    def compare(path, text):
        if request.config.getoption("--update-expected"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.is_file(), f"there is no {path}: pytest --update-expected makes it"
        assert text == path.read_text(), f"differs from {path}; if that is right: pytest --update-expected"

    return compare
