# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on a machine: what the environment and the configuration files say, and which of them counts.

NCCL's functions: `initEnv`, `setEnvFile` (misc/param.cc). The user's file (NCCL_CONF_FILE since 2.23, else .nccl.conf)
is read before /etc/nccl.conf; neither replaces what is set already. A line is NAME=VALUE, nothing is trimmed or quoted,
and any NAME is set, not only NCCL_*. The home folder is $HOME since 2.30, before that the one of the user database.
The libraries of NCCL 2.19 to 2.32 answered so (tests/nccl): a carriage return at the end of a line is in the value up
to 2.29, and removed since 2.30; up to 2.25 a line that begins with # sets a variable of that name, which nothing reads.
"""

import os
import pwd
import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import LiveReader, Reader

PREFIX = "NCCL_"
OTHERS = ("TORCH_NCCL_", "GLOO_SOCKET_IFNAME", "UCX_NET_DEVICES", "TP_SOCKET_IFNAME", "RCCL_", "HSA_")
"""Of other programs, and often taken for NCCL's or set beside them."""
CONF_FILE, USER_FILE, HOST_FILE = "NCCL_CONF_FILE", ".nccl.conf", "/etc/nccl.conf"
FILES = (CONF_FILE, "NCCL_TOPO_FILE")
"""Settings that name a file which is read to describe a machine."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
OF_PROGRAMS = re.compile(rf"(?:.*{PREFIX}|{'|'.join(OTHERS)}|CUDA_|UCX_|GLOO_|TORCH_|OMP_|NVIDIA_)")
"""Names that say how a job runs: their values are no secrets."""
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
LONGEST = 1023  # bytes of a name or value in a file that NCCL takes
CARRIAGE_RETURN = b"\r"
ENVIRONMENT, ASKED = "environment", "--set"


class Setting(NamedTuple):
    """One setting that is in force. origin: ENVIRONMENT, ASKED (a question of `env`) or the file that it is from.

    carriage_return: its line in a file ends in one, which is not in `value`. is_asked: `env` is asked about the text
    that it stands in, which is its origin.
    """

    name: str
    value: str
    origin: str
    carriage_return: bool = False
    is_asked: bool = False

    @property
    def is_of_file(self) -> bool:
        """Whether a file of NCCL sets it."""
        return self.origin not in (ENVIRONMENT, ASKED) and not self.is_asked


def live_settings(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The settings in an environment, and the files that NCCL would read, the first that counts first.

    "folder" is where relative names of files start; only if a setting has one. "former" is the user's file of NCCL
    before 2.30, where it is another one. "overridden" names variables of other programs that files set in vain.
    """
    own = {name: value for name, value in sorted(environment.items()) if name.startswith((PREFIX, *OTHERS))}
    relative = any(name in FILES and not os.path.isabs(value) for name, value in own.items() if value)
    home, former = environment.get("HOME"), _home_of_user()
    user = environment.get(CONF_FILE) or (f"{home}/{USER_FILE}" if home else None)
    differs = former and not environment.get(CONF_FILE) and os.path.realpath(former) != os.path.realpath(home or "")
    answer: dict[str, Any] = {
        "environment": own,
        "files": [*filter(None, [user]), HOST_FILE],
        **({"folder": os.getcwd()} if relative else {}),
        **({"former": f"{former}/{USER_FILE}"} if differs else {}),
    }
    overridden = {name for name in _names_in_files(answer) if name in environment} - own.keys()
    return answer | ({"overridden": sorted(overridden)} if overridden else {})


def _names_in_files(answer: Mapping[str, Any]) -> set[str]:
    reader = LiveReader("/", {"settings": lambda: answer})
    return {setting.name for path in answer["files"] for setting in read_file(reader, path)}


def _home_of_user() -> str:
    """The home folder in the user database; "" for a user that is not in it, as in many containers."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


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
        for setting in read_file(reader, path):
            found.setdefault(setting.name, setting)
    return tuple(found[name] for name in sorted(found) if name not in answer.get("overridden", ()))


def read_former(reader: Reader) -> tuple[Setting, ...]:
    """What NCCL before 2.30 reads in another home folder than $HOME."""
    path = (reader.facts("settings") or {}).get("former")
    return read_file(reader, path) if path else ()


def read_host_file(reader: Reader) -> tuple[Setting, ...]:
    """The settings of /etc/nccl.conf alone, for a machine whose environment was not read."""
    return read_file(reader, HOST_FILE)


def read_file(reader: Reader, path: str) -> tuple[Setting, ...]:
    """The settings of one file, by name."""
    found: dict[str, Setting] = {}
    for name, value in _named(reader.raw(in_folder(reader, path)) or ""):
        text = value.removesuffix(CARRIAGE_RETURN)
        setting = Setting(name=name, value=_text(text), origin=path, carriage_return=text != value)
        found.setdefault(name, setting)
    return tuple(found[name] for name in sorted(found))


def export_files(environment: MutableMapping[str, str]) -> None:
    """Put into the environment what NCCL's files say and it does not: what NCCL does to its process (`initEnv`)."""
    answer = live_settings(environment)
    reader = LiveReader("/", {"settings": lambda: answer})
    for path in answer["files"]:
        for name, value in pairs(reader.raw(in_folder(reader, path)) or ""):
            environment.setdefault(os.fsdecode(name), os.fsdecode(value.removesuffix(CARRIAGE_RETURN)))


def is_of_programs(name: str) -> bool:
    """Whether a name is NCCL's, or of a program that is set up beside it; else its value may be a secret."""
    return OF_PROGRAMS.match(name) is not None


def name_of(line: str) -> str:
    """What a line of a file sets; "" if it sets nothing that a program would look for."""
    return next((name for name, _ in _named(line)), "")


def _named(text: str) -> Iterator[tuple[str, bytes]]:
    """The pairs whose names a program may look for, or that are a misspelt setting of NCCL."""
    for raw, value in pairs(text):
        name = _text(raw)
        if PREFIX in name or PLAIN_NAME.fullmatch(name):
            yield name, value


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def pairs(text: str) -> Iterator[tuple[bytes, bytes]]:
    """The names and values of a file's text, as NCCL 2.26 to 2.29 set them: with a carriage return in the value."""
    for line in text.encode("utf-8", "surrogateescape").split(b"\n"):
        name, sign, value = line.partition(b"\0")[0].partition(b"=")
        if name and sign and not name.startswith(b"#"):
            yield name[:LONGEST], value[:LONGEST]
