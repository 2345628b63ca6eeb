# SPDX-License-Identifier: Apache-2.0
"""The one way sources read a machine: text files, links and listings below a root, and facts that no file holds.

`Reader` is the contract, `LiveReader` the machine itself (or a tree unpacked below another root); capture.py has the
others. Symbolic links are followed inside the root only, so an unpacked sysfs tree never leads into the host's own.
"""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

MAX_TEXT = 4 << 20  # /proc/cpuinfo of a large machine is about 1 MiB
CHUNK = 65_536  # /proc/sys refuses to be read in larger ones
MAX_LINKS = 64  # what the kernel allows is 40
Facts = Mapping[str, Any]


class Reader(Protocol):
    """What a source may ask. Paths are absolute, as on the machine described."""

    problems: dict[str, str]
    """Paths that exist but could not be read, with the reason."""

    def text(self, path: str) -> str | None:
        """A file's text without trailing white space; None when it is absent, unreadable or empty."""

    def entries(self, path: str) -> tuple[str, ...]:
        """The names in a directory, sorted; empty when there is none."""

    def realpath(self, path: str) -> str | None:
        """The path with all links followed; None when nothing is there."""

    def facts(self, name: str) -> Facts | None:
        """A recorded or live answer that is no file, by name (nvml, cuda, interfaces); None when there is none."""


def follow(path: str, readlink: Callable[[str], str | None]) -> str | None:
    """Follow every link in `path`, component by component, as inside a root; None for a loop."""
    todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            del done[-1:]
            continue
        target = readlink("/" + "/".join([*done, part]))
        if target is None:
            done.append(part)
            continue
        links += 1
        if links > MAX_LINKS:
            return None
        if target.startswith("/"):
            done.clear()
        todo.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
    return "/" + "/".join(done)


def _read(path: str) -> bytes:
    data = b""
    with open(path, "rb", buffering=0) as file:
        while len(data) < MAX_TEXT and (chunk := file.read(CHUNK)):
            data += chunk
    return data


class LiveReader:
    """Reads the file system below `root`; facts come from the callables given by name."""

    def __init__(self, root: str = "/", facts: Mapping[str, Callable[[], Facts | None]] | None = None) -> None:
        self.root = root.rstrip("/")
        self.problems: dict[str, str] = {}
        self._ask = dict(facts or {})
        self._answers: dict[str, Facts | None] = {}

    def text(self, path: str) -> str | None:
        """See Reader."""
        real = self.realpath(path)
        if real is None:
            return None
        try:
            return _read(self.root + real).decode("utf-8", "replace").rstrip() or None
        except IsADirectoryError:
            return None
        except OSError as error:
            self.problems[path] = error.strerror or str(error)
            return None

    def entries(self, path: str) -> tuple[str, ...]:
        """See Reader."""
        real = self.realpath(path)
        if real is None:
            return ()
        try:
            return tuple(sorted(os.listdir(self.root + real)))
        except NotADirectoryError:
            return ()
        except OSError as error:
            self.problems[path] = error.strerror or str(error)
            return ()

    def realpath(self, path: str) -> str | None:
        """See Reader."""
        real = follow(path, self.readlink)
        return real if real is not None and os.path.lexists(self.root + real) else None

    def readlink(self, path: str) -> str | None:
        """A link's target; None when the path is not a link."""
        try:
            return os.readlink(self.root + path)
        except OSError:
            return None

    def facts(self, name: str) -> Facts | None:
        """See Reader. Each is asked once."""
        if name not in self._answers:
            ask = self._ask.get(name)
            self._answers[name] = json.loads(json.dumps(ask())) if ask else None
        return self._answers[name]
