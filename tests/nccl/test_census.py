# SPDX-License-Identifier: Apache-2.0
"""NCCL's own libraries load our environment plugin without a GPU, and what they read is in the recording."""

import os
import subprocess
import sys

import pytest
from tests.nccl.library import each_release
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.nccl_plugin import Wanted
from railgauge.topo.jobs.recordings.job import read_job

SINCE = (2, 28, 9)
"""The first release with environment plugins."""
ASK = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(ctypes.create_string_buffer(128)))"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "RAILGAUGE_"))}


@each_release
def test_what_nccl_reads_is_counted_with_its_origin(release, tmp_path):
    file = tmp_path / "nccl.conf"
    file.write_text("NCCL_SOCKET_FAMILY=AF_INET\nNCCL_SOCKET_IFNAME=ignored\n")
    environment = Wanted(folder=str(tmp_path / "rec")).environment(CLEAN)
    environment |= {"NCCL_CONF_FILE": str(file), "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO"}
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(release.library)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert done.returncode == 0
    if release.version < SINCE:
        assert not (tmp_path / "rec").exists()
        pytest.skip(f"{release} has no environment plugins, and goes on without")
    assert "Successfully loaded external env plugin" in done.stdout
    (recording,) = read_job([str(tmp_path / "rec")]).recordings
    assert recording.nccl == str(release)
    known = {one.name: (one.value, one.origin) for one in recording.variables}
    assert known["NCCL_SOCKET_IFNAME"] == ("lo", "environment")
    assert known["NCCL_SOCKET_FAMILY"] == ("AF_INET", "user file")
    assert known["NCCL_COMM_ID"] == (None, "unset")
    library = release.library.read_bytes()
    assert all(name.removeprefix("NCCL_").encode() in library for name in known)
