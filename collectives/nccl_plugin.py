# SPDX-License-Identifier: Apache-2.0
"""Where the plugin is that NCCL loads into a job (collectives/native/nccl_plugin), and the variables that load it.

NCCL 2.27.3 takes only a name that begins with lib and ends in .so, others a path of at most 254 bytes: so it gets the
name, and the loader the folder.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from railgauge.topo.errors import UnavailableError

NAME = "librailgauge-nccl-plugin.so"
LEVELS = ("call", "op", "channel", "net")
SEARCHED = "LD_LIBRARY_PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a job is to record: into which folder, how much, the GPU timers of every Nth collective, in how many MiB."""

    folder: str
    level: str = "op"
    every: int = 1
    mib: int = 64

    def variables(self) -> dict[str, str]:
        """The variables that a job needs, without those of the loader. UnavailableError without the plugin."""
        plugin_path()
        return {
            "NCCL_PROFILER_PLUGIN": NAME,
            "NCCL_ENV_PLUGIN": NAME,
            "RAILGAUGE_NCCL_RECORD": os.path.abspath(self.folder),
            "RAILGAUGE_NCCL_LEVEL": self.level,
            "RAILGAUGE_NCCL_EVERY": str(self.every),
            "RAILGAUGE_NCCL_MIB": str(self.mib),
        }

    def environment(self, before: Mapping[str, str]) -> dict[str, str]:
        """An environment with them."""
        searched = [os.path.dirname(plugin_path()), *filter(None, [before.get(SEARCHED)])]
        return {**before, **self.variables(), SEARCHED: ":".join(searched)}


def plugin_path() -> str:
    """The plugin's file; UnavailableError if this installation has none."""
    found = find_spec("railgauge._native")
    path = os.path.join(os.path.dirname(found.origin), NAME) if found and found.origin else NAME
    if not os.path.exists(path):
        raise UnavailableError(f"{path} does not exist: install railgauge again, from its wheel or with a compiler")
    return path
