# SPDX-License-Identifier: Apache-2.0
"""The cores that this process may use: a container, a cpuset or a launcher leaves some of a machine's."""

import os
from typing import Any

from railgauge.topo.facts.reader import Reader


def live_affinity() -> dict[str, Any]:
    """{"cpus": [...]}: the cores of this process, ascending."""
    return {"cpus": sorted(os.sched_getaffinity(0))}


def allowed_cores(reader: Reader) -> frozenset[int] | None:
    """The cores of the process that read the machine; None when that was not recorded."""
    facts = reader.facts("affinity")
    return None if facts is None else frozenset(facts.get("cpus") or ()) or None
