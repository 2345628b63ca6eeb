# SPDX-License-Identifier: Apache-2.0
"""A live reader that keeps every answer it gave, as a capture."""

import time
from dataclasses import replace

from railgauge.topo.facts.capture import SCHEMA, SEEN, Capture, folders
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.redaction.configuration_files import kept
from railgauge.topo.facts.shapes import FACTS


class RecordingReader(LiveReader):
    """A LiveReader that keeps every text, link, listing and fact it answered with."""

    def __init__(self, live: LiveReader) -> None:
        super().__init__(live.root, live._ask)
        self.texts: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.listed: dict[str, tuple[str, ...]] = {}
        self.seen: set[str] = set()

    def text(self, path: str) -> str | None:
        """See Reader."""
        text = super().text(path)
        real = self.realpath(path)
        if text is not None and real is not None:
            self.texts[real] = text
        return text

    def entries(self, path: str) -> tuple[str, ...]:
        """See Reader."""
        names = super().entries(path)
        if (real := self.realpath(path)) is not None:
            self.listed[real.rstrip("/")] = names
        return names

    def realpath(self, path: str) -> str | None:
        """See Reader."""
        real = super().realpath(path)
        if real is not None:
            self.seen.add(real)
        return real

    def readlink(self, path: str) -> str | None:
        """See LiveReader."""
        target = super().readlink(path)
        if target is not None:
            self.links[path] = target
        return target

    def capture(self, host: str) -> Capture:
        """Everything read so far. A folder that was only looked at is kept by a file in it, with the names listed."""
        from railgauge import __version__

        texts = dict(self.texts)
        known = folders((*texts, *self.links, *self.seen))
        for path, names in self.listed.items():
            unread = set(names) - known.get(path or "/", set())
            texts |= {f"{path}/{SEEN}": "\n".join(sorted(unread))} if unread else {}
        texts |= {f"{path}/{SEEN}": texts.get(f"{path}/{SEEN}", "") for path in self.seen - {*self.texts, *known}}
        manifest = {
            "schema": SCHEMA,
            "host": host,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "version": __version__,
            "problems": dict(sorted(self.problems.items())),
        }
        facts = {name: self.facts(name) for name in FACTS}
        made = Capture(manifest=manifest, texts=texts, links=self.links, facts=facts)
        return replace(made, texts=kept(made))
