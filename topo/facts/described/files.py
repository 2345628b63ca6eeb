# SPDX-License-Identifier: Apache-2.0
"""The files and links of a machine that is being made, as sysfs and procfs would show them."""

import posixpath
from collections.abc import Mapping
from pathlib import Path

from railgauge.topo.facts.capture import SEEN
from railgauge.topo.facts.reader import follow


class Files:
    """Texts and link targets by absolute path; a capture holds the same two."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.links: dict[str, str] = {}

    def text(self, path: str, text: str) -> None:
        """One file."""
        self.texts[path] = text

    def folder(self, path: str, texts: Mapping[str, str | None]) -> None:
        """Several files of one folder; None leaves one out."""
        self.texts.update({f"{path}/{name}": text for name, text in texts.items() if text is not None})

    def link(self, path: str, target: str) -> None:
        """A link to an absolute path, written as the kernel does: relative to where it stands."""
        self.links[path] = posixpath.relpath(target, posixpath.dirname(path))

    def real(self, path: str) -> str:
        """The path with its links followed; a loop stays as it is."""
        return follow(path, self.links.get) or path

    def remove(self, path: str) -> bool:
        """Remove a file or link, or a folder with all in it; False when nothing was there."""
        gone = {path} if path in self.links else _at_or_below(self.real(path), [*self.texts, *self.links])
        for one in gone:
            self.texts.pop(one, None)
            self.links.pop(one, None)
        return bool(gone)


def unpack(texts: Mapping[str, str], links: Mapping[str, str], root: Path) -> None:
    """Lay files and links out below a folder, for a LiveReader or a program that wants a tree. What is there stays."""
    for path, text in texts.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.name != SEEN and not file.exists():
            file.write_text(text + "\n" if text else "")
    for path, target in links.items():
        link = root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(target)


def _at_or_below(path: str, paths: list[str]) -> set[str]:
    return {one for one in paths if one == path or one.startswith(path + "/")}
