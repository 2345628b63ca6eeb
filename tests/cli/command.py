# SPDX-License-Identifier: Apache-2.0
"""Runs the command line as a user would: a process of its own, judged by exit status, stdout and stderr."""

import json
import os
import subprocess
import sys

JOB = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without what a launcher, NCCL, `run --tune` or a terminal may have put there."""
    left_out = (*JOB, "COLUMNS", "LINES")  # pytest-xdist sets them
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "RAILGAUGE_")) and k not in left_out}
    return kept | {"RAILGAUGE_TUNING_FILE": "/dev/null"} | extra


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "railgauge", *args]


def railgauge(*args: str, timeout: float = 50, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*args), env=clean_environment(**env), capture_output=True, text=True, timeout=timeout, check=False
    )


SMALL = ("-b", "8", "-e", "64K", "-f", "8", "-n", "3")


def run(*args, **env):
    return railgauge("run", "all_reduce", *args, **env)


def document(*args, status=0, **env):
    result = run(*args, "--json", **env)
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout)
