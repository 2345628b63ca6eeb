# SPDX-License-Identifier: Apache-2.0
"""A capture: the raw reads of one machine in a small archive, replayed through the same readers.

Format: docs/reference/capture.md.

manifest.json      schema railgauge/capture/1, host, time, version of the tool
root/...           files and links under their own paths, as they were read
facts/NAME.json    answers that are not files: nvml, cuda, interfaces, affinity, ...
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from railgauge.topo.errors import InputError
from railgauge.topo.facts.foreign_tree import place, unknown_facts
from railgauge.topo.facts.reader import Facts, follow
from railgauge.topo.facts.shapes import FACTS, misfit
from railgauge.topo.facts.sources.pci_config import recorded_pci_config
from railgauge.topo.facts.tar_members import FOLDER, LINK, read_members
from railgauge.topo.files.compression import pack, unpack
from railgauge.topo.files.json_value import json_value
from railgauge.topo.values.printable import all_printable, file_text, inline

if TYPE_CHECKING:
    from tarfile import TarInfo

FORMAT = "railgauge/capture/"
SCHEMA = f"{FORMAT}1"
"""The only one so far; what later releases added to it may be absent."""
MANIFEST = "manifest.json"
NEVER = "1970-"
"""The time of a machine that is described (facts/described/build.py)."""
SEEN = ".seen"  # a file that keeps a folder in which nothing was read: one line for each name that was listed
Value = TypeVar("Value")
MAX_DOCUMENT = 4 << 20  # bytes of JSON; the answers of 16 GPUs are some 100 KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a capture holds: texts and link targets by absolute path, facts by name, and its manifest."""

    manifest: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Facts | None] = field(default_factory=dict)


class CaptureReader:
    """A Reader that replays a capture. `redacted` is the mark of the key its identifiers are hashed with, or None.

    `pasted`: the outputs of other tools that it was made of; `assumed`: what they do not say and was assumed.
    `environment`: NCCL's settings that its machine was looked at under; none unless an answer was saved with it.
    """

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.environment: dict[str, str] = all_printable(capture.manifest.get("environment", {}))
        self._absent = frozenset(map(inline, capture.manifest.get("absent", ())))
        self.problems: dict[str, str] = {}
        self._problems: dict[str, str] = all_printable(capture.manifest.get("problems", {}))
        self.redacted: str | None = capture.manifest.get("redacted")
        self.pasted: tuple[str, ...] = tuple(map(inline, capture.manifest.get("pasted", ())))
        self.assumed: tuple[str, ...] = tuple(map(inline, capture.manifest.get("assumed", ())))
        self._texts = {inline(path): text for path, text in capture.texts.items()}
        self._links = {inline(path): inline(target) for path, target in capture.links.items()}
        self._facts = all_printable(capture.facts)
        self._folders = folders((*self._texts, *self._links))
        self._followed = _followed(tuple(self._links.items()))

    def text(self, path: str) -> str | None:
        """See Reader."""
        real = self._real(path)
        return file_text(real, self._texts.get(real, "")).rstrip() or None if real else None

    def raw(self, path: str) -> str | None:
        """See Reader."""
        return self._texts.get(self._real(path) or "")

    def entries(self, path: str) -> tuple[str, ...]:
        """See Reader. Only what was read or listed is known to be there."""
        real = self._real(path)
        if real is None:
            return ()
        listed = self._texts.get(f"{real.rstrip('/')}/{SEEN}", "").splitlines()
        return tuple(sorted({*self._folders.get(real, ()), *map(inline, listed)} - {SEEN}))

    def realpath(self, path: str) -> str | None:
        """See Reader."""
        real = self._real(path)
        return real if real in self._folders or real in self._texts else None

    def facts(self, name: str) -> Facts | None:
        """See Reader."""
        return self._facts.get(name)

    def knows(self, path: str) -> bool:
        """See Reader."""
        return path in self._absent or path in self._problems or self.realpath(path) is not None

    def _real(self, path: str) -> str | None:
        """The path with all links followed; a problem that was met there is one again."""
        if path in self._problems:
            self.problems[path] = self._problems[path]
        if path not in self._followed:
            self._followed[path] = self._follow(path)
        return self._followed[path]

    def _follow(self, path: str) -> str | None:
        """The path with all links followed; where only its folder has such, by what is known of that."""
        parent, _, name = path.rpartition("/")
        if parent not in self._followed:
            self._followed[parent] = follow(parent, self._links.get)
        above = self._followed[parent]
        here = f"{'' if above == '/' else above}/{name}"
        if above is None or name in ("", ".", "..") or here in self._links:
            return follow(path, self._links.get)
        return here


@lru_cache(8)
def _followed(links: tuple[tuple[str, str], ...]) -> dict[str, str | None]:
    """Where paths lead by these links, as far as it was asked: the same for nodes of a cluster, which have the same."""
    return {}


@lru_cache(8)  # nodes of a cluster have the same files
def folders(paths: tuple[str, ...]) -> Mapping[str, set[str]]:
    """The folders that hold some absolute paths, each with the names in it."""
    found: dict[str, set[str]] = {"/": set()}
    for path in paths:
        while path != "/":
            parent, _, name = path.rpartition("/")
            known = found.setdefault(parent or "/", set())
            if name in known:
                break
            known.add(name)
            path = parent or "/"
    return found


def dumps(capture: Capture, suffix: str = ".tar.gz") -> bytes:
    """The archive, packed as the suffix says (.tar.zst or .tar.gz); the same content gives the same bytes."""
    import tarfile

    archive = bytearray()
    for name, text in _files(capture):
        data, member = text.encode("utf-8", "replace"), tarfile.TarInfo(name)
        member.size, member.mode = len(data), 0o644
        archive += _header(member) + data + bytes(-len(data) % tarfile.BLOCKSIZE)
    for name, target in sorted(capture.links.items()):
        member = tarfile.TarInfo("root" + name)
        member.type, member.linkname = tarfile.SYMTYPE, target
        archive += _header(member)
    archive += bytes(2 * tarfile.BLOCKSIZE)  # the end
    return pack(bytes(archive) + bytes(-len(archive) % tarfile.RECORDSIZE), suffix)


def _header(member: "TarInfo") -> bytes:
    """As ustar where the name fits, since pax writes two blocks more."""
    import tarfile

    if f"{member.name}{member.linkname}".isascii():
        with contextlib.suppress(ValueError):
            return member.tobuf(tarfile.USTAR_FORMAT)
    return member.tobuf(tarfile.PAX_FORMAT)


def _files(capture: Capture) -> Iterable[tuple[str, str]]:
    yield MANIFEST, json.dumps(capture.manifest, indent=1, allow_nan=False) + "\n"
    for name, facts in sorted(capture.facts.items()):
        if facts is not None:
            yield f"facts/{name}.json", json.dumps(facts, indent=1, allow_nan=False) + "\n"
    for name, text in sorted(capture.texts.items()):
        yield "root" + name, text + "\n" if text else ""


def loads(data: bytes, path: str) -> Capture:
    """Read a capture, or an archive of sysfs files that something else made (foreign_tree.py); nothing is unpacked.

    `path` stands in errors. InputError when it is unreadable, hostile, too large or neither.
    """
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    for member in read_members(unpack(data, path), path):
        if member.kind == LINK:
            links[member.name] = member.target
        elif member.kind == FOLDER:
            files[f"{member.name}/{SEEN}" if member.name else SEEN] = b""
        else:
            files[member.name] = member.content
    if MANIFEST not in files:
        return _foreign(files, links, path)
    manifest = _document(files, MANIFEST, path)
    if (schema := manifest.get("schema")) != SCHEMA:
        of_another = isinstance(schema, str) and schema.startswith(FORMAT)
        more = ": this is a capture of another release; use that one, or capture again" if of_another else ""
        raise InputError(f"schema is {schema!r}, expected {SCHEMA!r}{more}", path)
    facts = {name: _document(files, f"facts/{name}.json", path) for name in FACTS if f"facts/{name}.json" in files}
    texts, links = _texts(files, "root/", "/"), _below(links, "root/", "/")
    if not any((texts, links, facts, manifest.get("problems"))):
        raise InputError("the capture holds nothing of a machine, only its manifest; capture again", path)
    return Capture(manifest=manifest, texts=texts, links=links, facts=dict(facts))


def _foreign(files: dict[str, bytes], links: dict[str, str], path: str) -> Capture:
    prefix, root = place([*files, *links], path)
    capture = Capture(manifest={"schema": SCHEMA}, texts=_texts(files, prefix, root), links=_below(links, prefix, root))
    capture.facts.update(unknown_facts(CaptureReader(capture)))
    if configs := recorded_pci_config(_below(files, prefix, root)):
        capture.facts["pci_config"] = configs
    return capture


def _texts(files: dict[str, bytes], prefix: str, root: str) -> dict[str, str]:
    below = _below(files, prefix, root)
    return {name: data.decode("utf-8", "replace").removesuffix("\n") for name, data in below.items()}


def _below(members: dict[str, Value], prefix: str, root: str) -> dict[str, Value]:
    """The members below a prefix, by their absolute path on the machine."""
    return {root + name[len(prefix) :]: value for name, value in members.items() if name.startswith(prefix)}


def _document(files: dict[str, bytes], name: str, path: str) -> dict[str, Any]:
    if len(files[name]) > MAX_DOCUMENT:
        raise InputError(f"{name} is larger than {MAX_DOCUMENT >> 20} MiB", path)
    try:
        document = json_value(files[name])
    except ValueError as error:
        raise InputError(f"{name} is {error}", path) from error
    if not isinstance(document, dict):
        raise InputError(f"{name} is not a JSON object", path)
    if wrong := misfit(document, name):
        raise InputError(inline(wrong), path)
    return document


def captured_at(reader: object) -> str | None:
    """When a capture was made, "2026-11-23 10:15:00 UTC"; None for a live machine and a description."""
    time = reader.capture.manifest.get("time") if isinstance(reader, CaptureReader) else None
    if not isinstance(time, str) or time.startswith(NEVER):
        return None
    return inline(f"{time.replace('T', ' ').removesuffix('Z')} UTC")
