# SPDX-License-Identifier: Apache-2.0
"""NCCL's own libraries find the versions of our tuner plugin that they look for, and choose by it, without a GPU."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from tests.collectives.gains import RING_LL, gains, row
from tests.gpu import fake_gpus
from tests.nccl.library import ROOT, each_release
from tests.nccl.tuned import COSTS
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.nccl_plugin import plugin_path

SINCE = (2, 21)
"""The first release with v2 of the plugin, the oldest that we have."""
ADAPTED_SINCE = (2, 28)
"""The first release that gives all versions the arguments of v5."""
ADAPTER = re.compile(r"^([0-9a-f]+) \w _Z15getNcclTuner_v(\d)Pv$", re.MULTILINE)
SIZE = 1 << 20


@each_release
def test_a_release_finds_a_version_of_the_plugin_that_it_looks_for(release):
    wanted = set(re.findall(rb"ncclTunerPlugin_v\d\b", release.library.read_bytes()))
    plugin = ctypes.CDLL(plugin_path())
    found = {name for name in wanted if hasattr(plugin, name.decode())}
    assert found if release.version >= SINCE else wanted == {b"ncclTunerPlugin_v1"}


@each_release
def test_each_version_is_applied_by_nccls_own_code(release, tmp_path):
    if release.version < ADAPTED_SINCE:
        pytest.skip(f"{release} calls plugins otherwise")
    if not (shutil.which("nm") and shutil.which(fake_gpus.COMPILER[0])):
        pytest.skip("no nm or no compiler")
    listed = subprocess.run(["nm", str(release.library)], capture_output=True, text=True, check=True).stdout
    places = {api: int(address, 16) for address, api in ADAPTER.findall(listed)}
    if not places:
        pytest.skip(f"{release} has no symbols of its functions")
    base = re.search(r"^([0-9a-f]+) [TW] ncclGetVersion$", listed, re.MULTILINE)
    driver = tmp_path / "libcuda.so.1"
    fake_gpus.compile_to(driver, "-I", str(ROOT), str(ROOT / "tests/native/fake_gpu.cc"))
    table = tmp_path / "gains.json"
    table.write_text(json.dumps(gains(row(SIZE, RING_LL), nccl=str(release), gpus=["fake GPU"])))
    command = [sys.executable, "-m", "tests.nccl.tuned", str(release.library), str(driver), plugin_path(), str(SIZE)]
    done = subprocess.run(
        [*command, f"base={int(base[1], 16)}", *(f"{api}={address}" for api, address in places.items())],
        env={"PATH": os.environ["PATH"], "RAILGAUGE_NCCL_TUNE": str(table)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=True,
    )
    answers = {api: rest for api, *rest in map(json.loads, done.stdout.splitlines())}
    assert answers.keys() == {int(api) for api in places}
    chosen = [0.0 if place == 3 else cost for place, cost in enumerate(COSTS)]
    assert answers == {api: [0, 0, chosen, 0] for api in answers}
