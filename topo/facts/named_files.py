# SPDX-License-Identifier: Apache-2.0
"""The files that names on a command line mean: files, all of a folder, and patterns that no shell expanded."""

import glob
import os
from collections.abc import Iterable, Iterator

from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import STDIN
from railgauge.topo.values.number import natural

MOST = 100_000
"""Files: a job of thousands of ranks leaves some for each."""


def has_wildcard(name: str) -> bool:
    """Whether a name is a pattern: it has *, ? or [ and is no file itself."""
    return glob.has_magic(name) and not os.path.lexists(name)


def named_files(names: Iterable[str]) -> list[str]:
    """The files by name, those of a folder and of a pattern in natural order; of a folder, those that are hidden, and
    pipes, sockets and devices, are left out.

    InputError for a folder or a pattern without any, and beyond MOST.
    """
    found: list[str] = []
    for name in names:
        matched = sorted(glob.iglob(name, recursive=True), key=natural) if has_wildcard(name) else [name]
        files = [file for one in matched for file in _in(one)]
        if not files:
            raise InputError("matches no file" if has_wildcard(name) else "a folder without files", name)
        found += files
        if len(found) > MOST:
            raise InputError(f"more than {MOST} files", name)
    return found


def _in(path: str) -> Iterator[str]:
    """The file, or all files of a folder and the folders in it."""
    if path == STDIN or not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort(key=natural)
        shown = (os.path.join(folder, one) for one in sorted(names, key=natural) if not one.startswith("."))
        yield from (one for one in shown if os.path.isfile(one) or not os.path.exists(one))
