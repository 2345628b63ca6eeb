# SPDX-License-Identifier: Apache-2.0
"""Where the plugin is that NCCL loads into a job (collectives/native/nccl_plugin), and the variables that load it.

NCCL 2.27.3 takes only a name that begins with lib and ends in .so, others a path of at most 254 bytes: so it gets the
name, and the loader the folder.
"""

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from railgauge.collectives.nccl_tuning import SEPARATOR
from railgauge.topo.errors import UnavailableError

NAME = "librailgauge-nccl-plugin.so"
LEVELS = ("call", "op", "channel", "net")
SEARCHED = "LD_LIBRARY_PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What NCCL is to do in a job: record into a folder (how much, the GPU timers of every Nth collective, in how many
    MiB), and take settings from tables of `tune nccl`.
    """

    folder: str | None = None
    level: str = "op"
    every: int = 1
    mib: int = 64
    tables: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """The variables that a job needs, without those of the loader. UnavailableError without the plugin."""
        plugin_path()
        return (self._of_recording(self.folder) if self.folder else {}) | (self._of_tables() if self.tables else {})

    def environment(self, before: Mapping[str, str]) -> dict[str, str]:
        """An environment with them."""
        searched = [os.path.dirname(plugin_path()), *filter(None, [before.get(SEARCHED)])]
        return {**before, **self.variables(), SEARCHED: ":".join(searched)}

    def replaced(self, before: Mapping[str, str]) -> list[str]:
        """What a user has to know of other plugins that an environment names: NCCL loads one of each kind."""
        return [
            f"{name}={before[name]} is replaced by {value}"
            for name, value in self.variables().items()
            if name.endswith("_PLUGIN") and before.get(name, value) != value
        ]

    def _of_recording(self, folder: str) -> dict[str, str]:
        return {
            "NCCL_PROFILER_PLUGIN": NAME,
            "NCCL_ENV_PLUGIN": NAME,
            "RAILGAUGE_NCCL_RECORD": os.path.abspath(folder),
            "RAILGAUGE_NCCL_LEVEL": self.level,
            "RAILGAUGE_NCCL_EVERY": str(self.every),
            "RAILGAUGE_NCCL_MIB": str(self.mib),
        }

    def _of_tables(self) -> dict[str, str]:
        return {
            "NCCL_TUNER_PLUGIN": NAME,
            "RAILGAUGE_NCCL_TUNE": SEPARATOR.join(map(os.path.abspath, self.tables)),
        }


def why_not_tuned(table: str) -> str | None:
    """Why the plugin refuses a table; None: it does not."""
    judge = ctypes.CDLL(plugin_path()).railgauge_why_not_tuned
    judge.argtypes, judge.restype = [ctypes.c_char_p], ctypes.c_char_p
    said: bytes | None = judge(os.fsencode(table))
    return None if said is None else said.decode()


def plugin_path() -> str:
    """The plugin's file; UnavailableError if this installation has none."""
    found = find_spec("railgauge._native")
    path = os.path.join(os.path.dirname(found.origin), NAME) if found and found.origin else NAME
    if not os.path.exists(path):
        raise UnavailableError(f"{path} does not exist: install railgauge again, from its wheel or with a compiler")
    return path
