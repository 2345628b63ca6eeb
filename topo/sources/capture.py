# SPDX-License-Identifier: Apache-2.0
"""A capture: the raw reads of one machine in a small .tar.gz, replayed through the same readers.

Format: docs/capture.md.

manifest.json      schema railgauge/capture/1, host, time, version of the tool
root/...           files and links under their own paths, as they were read
facts/NAME.json    answers that are no file: nvml, cuda, interfaces, affinity
"""

import gzip
import io
import json
import tarfile
import time
import zlib
from dataclasses import dataclass, field
from typing import Any

from railgauge.topo.errors import InputError
from railgauge.topo.sources.reader import Facts, LiveReader, follow
from railgauge.topo.sources.shapes import misfit

SCHEMA = "railgauge/capture/1"
MAX_MEMBERS = 50_000
MAX_TOTAL = 64 << 20
SEEN = ".seen"  # an empty file that keeps a folder in which nothing was read
FACTS = ("nvml", "cuda", "interfaces", "affinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a capture holds: texts and link targets by absolute path, facts by name, and its manifest."""

    manifest: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Facts | None] = field(default_factory=dict)


class CaptureReader:
    """A Reader that replays a capture."""

    def __init__(self, capture: Capture) -> None:
        self.problems: dict[str, str] = dict(capture.manifest.get("problems", {}))
        self._capture = capture
        self._folders = _folders([*capture.texts, *capture.links])

    def text(self, path: str) -> str | None:
        """See Reader."""
        real = follow(path, self._capture.links.get)
        return self._capture.texts.get(real, "").rstrip() or None if real else None

    def entries(self, path: str) -> tuple[str, ...]:
        """See Reader. Only what was read is known to be there."""
        real = follow(path, self._capture.links.get)
        return tuple(sorted(self._folders.get(real, set()) - {SEEN})) if real else ()

    def realpath(self, path: str) -> str | None:
        """See Reader."""
        real = follow(path, self._capture.links.get)
        return real if real in self._folders or real in self._capture.texts else None

    def facts(self, name: str) -> Facts | None:
        """See Reader."""
        return self._capture.facts.get(name)


def _folders(paths: list[str]) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = {"/": set()}
    for path in paths:
        while path != "/":
            parent, _, name = path.rpartition("/")
            known = folders.setdefault(parent or "/", set())
            if name in known:
                break
            known.add(name)
            path = parent or "/"
    return folders


class RecordingReader(LiveReader):
    """A LiveReader that keeps every text, link and fact it answered with."""

    def __init__(self, live: LiveReader) -> None:
        super().__init__(live.root, live._ask)
        self.texts: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.seen: set[str] = set()

    def text(self, path: str) -> str | None:
        """See Reader."""
        text = super().text(path)
        real = self.realpath(path)
        if text is not None and real is not None:
            self.texts[real] = text
        return text

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
        """Everything read so far. A folder that was only looked at is kept by an empty file in it."""
        from railgauge import __version__

        texts = dict(self.texts)
        folders = _folders([*texts, *self.links])
        texts.update({f"{path}/{SEEN}": "" for path in self.seen if path not in texts and path not in folders})
        manifest = {
            "schema": SCHEMA,
            "host": host,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "version": __version__,
            "problems": dict(sorted(self.problems.items())),
        }
        return Capture(
            manifest=manifest, texts=texts, links=self.links, facts={name: self.facts(name) for name in FACTS}
        )


def dumps(capture: Capture) -> bytes:
    """The archive; the same content gives the same bytes."""
    file = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", 9, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, "manifest.json", json.dumps(capture.manifest, indent=1) + "\n")
        for name, facts in sorted(capture.facts.items()):
            if facts is not None:
                _add(tar, f"facts/{name}.json", json.dumps(facts, indent=1) + "\n")
        for name, text in sorted(capture.texts.items()):
            _add(tar, "root" + name, text + "\n" if text else "")
        for name, target in sorted(capture.links.items()):
            member = tarfile.TarInfo("root" + name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return file.getvalue()


def _add(tar: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o644
    tar.addfile(member, io.BytesIO(data))


def loads(data: bytes, path: str) -> Capture:
    """Read a capture (nothing is unpacked); `path` stands in errors.

    InputError when it is unreadable, too large or not a capture.
    """
    texts: dict[str, str] = {}
    links: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_unpacked(data, path)), mode="r:") as tar:
            _collect(tar, texts, links, path)
    except (tarfile.TarError, ValueError, RecursionError) as error:
        raise InputError(f"not a readable capture: {error}", path) from error
    manifest = _document(texts, "manifest.json", path)
    if manifest.get("schema") != SCHEMA:
        raise InputError(f"schema is {manifest.get('schema')!r}, wanted {SCHEMA!r}", path)
    facts = {name: _document(texts, f"facts/{name}.json", path) for name in FACTS if f"facts/{name}.json" in texts}
    return Capture(
        manifest=manifest,
        texts={name[4:]: text.rstrip() for name, text in texts.items() if name.startswith("root/")},
        links={name[4:]: target for name, target in links.items() if name.startswith("root/")},
        facts=dict(facts),
    )


def _unpacked(archive: bytes, path: str) -> bytes:
    """The whole archive, so that its checksum is checked; a bomb is cut off at MAX_TOTAL."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(archive)) as packed:
            data = packed.read(MAX_TOTAL + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"not a readable capture: {error}", path) from error
    if len(data) > MAX_TOTAL:
        raise InputError(f"unpacks to more than {MAX_TOTAL >> 20} MiB", path)
    return data


def _collect(tar: tarfile.TarFile, texts: dict[str, str], links: dict[str, str], path: str) -> None:
    total = 0
    for count, member in enumerate(tar):
        total += member.size
        if count >= MAX_MEMBERS or total > MAX_TOTAL:
            raise InputError(f"more than {MAX_MEMBERS} members or {MAX_TOTAL >> 20} MiB", path)
        name = member.name.removeprefix("./")
        if name.startswith("/") or ".." in name.split("/"):
            raise InputError(f"member {name[:80]!r} leads outside the capture", path)
        if member.issym():
            links[name] = member.linkname
        elif member.isfile():
            file = tar.extractfile(member)
            texts[name] = file.read().decode("utf-8", "replace") if file else ""
        elif not member.isdir():
            raise InputError(f"member {name[:80]!r} is neither a file nor a link", path)


def _document(texts: dict[str, str], name: str, path: str) -> dict[str, Any]:
    if name not in texts:
        raise InputError(f"lacks {name}: not a capture", path)
    try:
        document = json.loads(texts[name])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}", path) from error
    if not isinstance(document, dict):
        raise InputError(f"{name} is not a JSON object", path)
    if wrong := misfit(document, name):
        raise InputError(wrong, path)
    return document
