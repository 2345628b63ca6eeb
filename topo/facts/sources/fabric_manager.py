# SPDX-License-Identifier: Apache-2.0
"""The release of NVIDIA's fabric manager that is installed, as its program reports it; NVML reports whether it runs."""

import os
import re
import subprocess
from typing import Any

from railgauge.topo.facts.reader import Reader

PROGRAM = "/usr/bin/nv-fabricmanager"
TIMEOUT_S = 5.0
RELEASE = re.compile(r"Fabric Manager version is\s*:\s*([0-9]+(?:\.[0-9]+)+)")


def live_fabric_manager(program: str = PROGRAM, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """{"release": ...}, None where it is not installed; or {"error": reason}."""
    if not os.path.exists(program):
        return {"release": None}
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": f"{program} --version: {error}"}
    found = RELEASE.search(done.stdout.decode("utf-8", "replace"))
    return {"release": found[1]} if found else {"error": f"{program} --version shows no release"}


def read_fabric_manager(reader: Reader) -> str | None:
    """The release, None if not installed or unknown."""
    return (reader.facts("fabric_manager") or {}).get("release")
