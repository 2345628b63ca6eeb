# SPDX-License-Identifier: Apache-2.0
"""How sources read a machine: text files, links and listings below a root, and facts that are not files.

`Reader` is the contract, `LiveReader` the machine itself (or a tree unpacked below another root); capture.py has the
other. A reader is a snapshot: it reads each file, folder, link and fact once, so that all parts of an answer are of one
reading. A rate takes two readers. Symbolic links are followed inside the root only, so an unpacked sysfs
tree never leads into the host's own. No answer but `raw` holds a control character: U+FFFD stands for it
(printable.py), and a name that has one leads nowhere.
"""

import errno
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from railgauge.topo.values.printable import all_printable, file_text, inline

MAX_TEXT = 4 << 20  # /proc/cpuinfo of a large machine is about 1 MiB
CHUNK = 65_536  # /proc/sys refuses to be read in larger ones
MAX_LINKS = 64  # what the kernel allows is 40
SLOW_S = 1.0  # a sick device answers late: then the reason says how late
NO_VALUE = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENODATA)
"""How drivers say that an attribute has no value now, such as the speed of an interface that is down or an unused GID
(kernel: ABI/testing/sysfs-class-net, ABI/testing/sysfs-class-infiniband)."""
GONE = "it disappeared while being read"
Facts = Mapping[str, Any]
Answer = TypeVar("Answer")
Kept = tuple[Answer, str | None]
"""What was read, and why that is not all there is (None where it is)."""


class Reader(Protocol):
    """What a source may ask. Paths are absolute, as on the machine described."""

    problems: dict[str, str]
    """Paths that exist but could not be read, with the reason."""

    def text(self, path: str) -> str | None:
        """A file's text without trailing white space; None when it is absent, unreadable or empty."""

    def raw(self, path: str) -> str | None:
        """A file's text as a program reads it: with control characters and its end, what is not UTF-8 as surrogates.

        None when it is absent or unreadable. It is for parsers; none of it may be printed as it is.
        """

    def entries(self, path: str) -> tuple[str, ...]:
        """The names in a directory, sorted; empty when there is none."""

    def realpath(self, path: str) -> str | None:
        """The path with all links followed; None when nothing is there."""

    def facts(self, name: str) -> Facts | None:
        """A recorded or live answer that is no file, by name (nvml, cuda, interfaces); None when there is none."""

    def knows(self, path: str) -> bool:
        """Whether it is known what is at the path, or that nothing is; a recording knows only what was looked for."""


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


def _open(path: str) -> int:
    """A descriptor of what is at the path, if no link; OSError else. Never waits for a pipe or terminal."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)


def _read(descriptor: int) -> bytes:
    """The bytes of a regular file, at most about MAX_TEXT; OSError for all else. Closes the descriptor."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.ENXIO, "neither a file nor a folder")
        data = b""
        while len(data) < MAX_TEXT and (chunk := os.read(descriptor, CHUNK)):
            data += chunk
    finally:
        os.close(descriptor)
    return data


class LiveReader:
    """Reads the file system below `root`; facts come from the callables given by name.

    It keeps each answer under the path that links lead to: `texts`, `raws`, `listings` and `links` are what
    recording.py makes a capture of.
    """

    def __init__(self, root: str = "/", facts: Mapping[str, Callable[[], Facts | None]] | None = None) -> None:
        self.root = root.rstrip("/")
        self.problems: dict[str, str] = {}
        self.ask = dict(facts or {})
        self.answers: dict[str, Facts | None] = {}
        self.texts: dict[str, Kept[str | None]] = {}
        self.raws: dict[str, Kept[str | None]] = {}
        self.listings: dict[str, Kept[tuple[str, ...]]] = {}
        self.there: dict[str, Kept[bool]] = {}
        self.links: dict[str, str | None] = {}
        self.real: dict[str, str | None] = {}

    def text(self, path: str) -> str | None:
        """See Reader. What a driver answers with NO_VALUE is absent and no problem; a file over MAX_TEXT is cut."""
        self._try(path)
        real = self.realpath(path)
        return None if real is None else self._once(self.texts, real, self._text, path)

    def raw(self, path: str) -> str | None:
        """See Reader."""
        real = self.realpath(path)
        return None if real is None else self._once(self.raws, real, self._raw, path)

    def entries(self, path: str) -> tuple[str, ...]:
        """See Reader."""
        real = self.realpath(path)
        return () if real is None else self._once(self.listings, real, self._listing, path)

    def realpath(self, path: str) -> str | None:
        """See Reader."""
        if path not in self.real:
            self.real[path] = self._followed(path) if "\0" not in path else None
        real = self.real[path]
        return real if real is not None and self._once(self.there, real, self._is_there, path) else None

    def knows(self, path: str) -> bool:
        """See Reader."""
        return True

    def facts(self, name: str) -> Facts | None:
        """See Reader."""
        if name not in self.answers:
            ask = self.ask.get(name)
            self.answers[name] = all_printable(json.loads(json.dumps(ask()))) if ask else None
        return self.answers[name]

    def readlink(self, path: str) -> str | None:
        """A link's target; None when the path is not a link."""
        if path not in self.links:
            try:
                self.links[path] = os.readlink(self.root + path)
            except OSError:
                self.links[path] = None
        return self.links[path]

    def _once(self, kept: dict[str, Kept[Answer]], real: str, read: Callable[[str], Kept[Answer]], path: str) -> Answer:
        """The answer that was kept, or read now; why it is not whole is a problem of each path that leads there."""
        if real not in kept:
            kept[real] = read(real)
        answer, why = kept[real]
        if why is not None:
            self.problems[path] = why
        return answer

    def _followed(self, path: str) -> str | None:
        """As `follow`, but each folder once: a port's table of GIDs is a folder of up to 1,024 files."""
        real = self._in_folder(path)
        if real is None or self.readlink(real) is not None:
            return follow(path, self.readlink)
        return real

    def _in_folder(self, path: str) -> str | None:
        """The path with the links of its folder followed; None for a loop, or where its last part names no entry."""
        folder, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return None
        if folder not in self.real:
            self.real[folder] = follow(folder, self.readlink)
        parent = self.real[folder]
        return None if parent is None else f"{parent.rstrip('/')}/{name}"

    def _try(self, path: str) -> None:
        """Keep the text of a path that opens: so it is there and no link, which nobody needs to ask the kernel for."""
        real = self._in_folder(path) if path not in self.real and "\0" not in path else None
        if real is None or real in self.links or real in self.there:
            return
        try:
            descriptor = _open(self.root + real)
        except OSError:
            return  # absent, a link or not ours to read: `realpath` and `_text` say which
        self.real[path], self.links[real], self.there[real] = real, None, (True, None)
        self.texts[real] = self._text(real, descriptor)

    def _is_there(self, real: str) -> Kept[bool]:
        try:
            os.lstat(self.root + real)
        except (FileNotFoundError, NotADirectoryError):
            return False, GONE if self._vanished(real.rpartition("/")[0]) else None
        except OSError as error:
            return False, _why(error)
        return True, None

    def _vanished(self, folder: str) -> bool:
        """Whether a folder that was there is there no more, as of a device that is removed while it is read."""
        was_there, _ = self.there.get(folder, (False, None))
        return was_there and not os.access(self.root + folder, os.F_OK)

    def _text(self, real: str, descriptor: int | None = None) -> Kept[str | None]:
        data, why = self._data(real, descriptor)
        return file_text(real, data.decode("utf-8", "replace").rstrip("\r\n")).rstrip() or None if data else None, why

    def _raw(self, real: str) -> Kept[str | None]:
        data, why = self._data(real)
        return data.decode("utf-8", "surrogateescape") if data else None, why

    def _data(self, real: str, descriptor: int | None = None) -> Kept[bytes | None]:
        start = time.monotonic()
        try:
            data = _read(_open(self.root + real) if descriptor is None else descriptor)
        except IsADirectoryError:
            return None, None
        except OSError as error:
            return None, _why(error, time.monotonic() - start)
        return data or None, f"larger than {MAX_TEXT >> 20} MiB, cut off there" if len(data) >= MAX_TEXT else None

    def _listing(self, real: str) -> Kept[tuple[str, ...]]:
        try:
            return tuple(sorted(map(inline, os.listdir(self.root + real)))), None
        except NotADirectoryError:
            return (), None
        except OSError as error:
            return (), _why(error)


def _why(error: OSError, seconds: float = 0.0) -> str | None:
    """Why a path that exists could not be read, and how long that took where it was long; None for NO_VALUE."""
    if error.errno in NO_VALUE:
        return None
    why = GONE if error.errno in (errno.ENOENT, errno.ENODEV) else error.strerror or str(error)
    return f"{why} (after {seconds:.0f} s)" if seconds > SLOW_S else why
