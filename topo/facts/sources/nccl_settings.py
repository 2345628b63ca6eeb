# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on a machine: what the environment and the configuration files say, and which of them counts.

NCCL's functions: `initEnv`, `setEnvFile` (misc/param.cc). The user's file (NCCL_CONF_FILE, else ~/.nccl.conf) is read
before /etc/nccl.conf; neither replaces what is set already. A line is NAME=VALUE, nothing is trimmed or quoted.
"""

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from railgauge.topo.facts.reader import LiveReader, Reader

PREFIX = "NCCL_"
OTHERS = ("TORCH_NCCL_", "GLOO_SOCKET_IFNAME", "UCX_NET_DEVICES", "TP_SOCKET_IFNAME", "RCCL_", "HSA_")
"""Of other programs, and often taken for NCCL's or set beside them."""
CONF_FILE, USER_FILE, HOST_FILE = "NCCL_CONF_FILE", "~/.nccl.conf", "/etc/nccl.conf"
FILES = (CONF_FILE, "NCCL_TOPO_FILE")
"""Settings that name a file which is read to describe a machine."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
LONGEST = 1023  # characters of a name or value in a file that NCCL takes
ENVIRONMENT, ASKED = "environment", "--set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting that is in force. origin: ENVIRONMENT, ASKED (a question of `env`) or the file that it is from."""

    name: str
    value: str
    origin: str

    @property
    def is_of_file(self) -> bool:
        """Whether a file sets it."""
        return self.origin not in (ENVIRONMENT, ASKED)


def live_settings(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The settings in an environment, and the files that NCCL would read, the first that counts first.

    "folder" is where relative names of files start; only if a setting has one.
    """
    own = {name: value for name, value in sorted(environment.items()) if name.startswith((PREFIX, *OTHERS))}
    relative = any(name in FILES and not os.path.isabs(value) for name, value in own.items() if value)
    return {
        "environment": own,
        "files": [environment.get(CONF_FILE) or os.path.expanduser(USER_FILE), HOST_FILE],
        **({"folder": os.getcwd()} if relative else {}),
    }


def in_folder(reader: Reader, name: str) -> str:
    """The absolute path of a file that a setting names."""
    return os.path.join((reader.facts("settings") or {}).get("folder", "/"), name)


def of_nccl(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of an environment that change what NCCL detects on a machine."""
    return {name: value for name, value in sorted(environment.items()) if name.startswith(PREFIX) or name == VISIBLE}


def read_settings(reader: Reader) -> tuple[Setting, ...] | None:
    """The settings in force, by name; None if they were not read."""
    answer = reader.facts("settings")
    if answer is None:
        return None
    own = answer.get("environment", {})
    found = {name: Setting(name=name, value=value, origin=ENVIRONMENT) for name, value in own.items()}
    for path in answer.get("files", ()):
        for name, value in _lines(reader.text(in_folder(reader, path)) or ""):
            found.setdefault(name, Setting(name=name, value=value, origin=path))
    return tuple(found[name] for name in sorted(found))


def export_files(environment: MutableMapping[str, str]) -> None:
    """Put into the environment what NCCL's files say and it does not: what NCCL does to its process (`initEnv`)."""
    for setting in read_settings(LiveReader("/", {"settings": lambda: live_settings(environment)})) or ():
        environment.setdefault(setting.name, setting.value)


def read_host_file(reader: Reader) -> tuple[Setting, ...]:
    """The settings of /etc/nccl.conf alone, for a machine whose environment was not read."""
    found = {
        name: Setting(name=name, value=value, origin=HOST_FILE) for name, value in _lines(reader.text(HOST_FILE) or "")
    }
    return tuple(found[name] for name in sorted(found))


def is_setting(line: str) -> bool:
    """Whether a line of a file sets something."""
    name, sign, _ = line.partition("=")
    return bool(sign) and name.startswith(PREFIX)


def _lines(text: str) -> list[tuple[str, str]]:
    pairs = (line.partition("=") for line in text.splitlines() if is_setting(line))
    return [(name[:LONGEST], value[:LONGEST]) for name, _, value in pairs]
