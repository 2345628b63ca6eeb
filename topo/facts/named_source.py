# SPDX-License-Identifier: Apache-2.0
"""What --from names: the live machine, a fixture (@name), a capture, a folder, a description, a topology file or output
of other tools.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.facts.capture import Capture, CaptureReader, loads
from railgauge.topo.facts.live_reader import live_reader
from railgauge.topo.facts.named_files import has_wildcard, named_files
from railgauge.topo.facts.reader import LiveReader, Reader
from railgauge.topo.facts.sources.kernel_log import kernel_log_file
from railgauge.topo.files.compression import MAX_TOTAL, is_archive, unpack
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.values.near import did_you_mean

DESCRIPTION = "machine.toml"
SYSTEM = re.compile(rb"(?:<|&lt;)system\s+version=")
OF_ROCM = re.compile(rb"Link Type between two GPUs|LINK TYPE TABLE")
OF_PAGE = re.compile(rb"<(?:details|summary|pre|code|p|div|!--)\b", re.IGNORECASE)
"""What stands around a paste in a ticket or a page."""
Source: TypeAlias = str | Sequence[str] | Capture | None
"""What names a machine: None this one, a name, several names of outputs of one host, or a capture."""


def open_source(source: "Source", root: str = "/") -> tuple[Reader | None, bytes]:
    """The reader of a machine, live, recorded, described or pasted; for a topology file None and its content.

    Of several names each is a file or folder with outputs of one host.
    """
    if source is None or isinstance(source, Capture):
        return (live_reader(root) if source is None else CaptureReader(source)), b""
    names = [source] if isinstance(source, str) else list(source)
    if "" in names:
        raise UsageError('--from "": give a topology XML, a capture, machine.toml, output of tools or @fixture')
    return _open_one(names[0]) if len(names) == 1 else (_pasted(names), b"")


def _open_one(name: str) -> tuple[Reader | None, bytes]:
    path = fixture_path(name[1:]) if name.startswith("@") else name
    if os.path.isdir(path):
        from railgauge.topo.facts.foreign_tree import is_tree, tree_reader

        return (tree_reader(path) if is_tree(path) or not _has_files(path) else _pasted([path])), b""
    if has_wildcard(path):
        return _pasted([path]), b""
    data = read_bytes(path, MAX_TOTAL, packed=True)
    if path.endswith(".toml"):
        from railgauge.topo.facts.described.build import build

        return CaptureReader(build(data, path)), b""
    if is_archive(data) and is_archive(plain := unpack(data, path)):
        return CaptureReader(loads(plain, path)), b""
    data = plain if is_archive(data) else data
    return (None, data) if is_xml(data) else (_pasted_texts([(path, data)]), b"")


def _has_files(folder: str) -> bool:
    """Whether files stand in a folder itself, as outputs do."""
    with os.scandir(folder) as entries:
        return any(entry.is_file() for entry in entries)


def _pasted(names: Sequence[str]) -> Reader:
    """The machine that the outputs in some files, folders and patterns describe."""
    texts = [(path, read_bytes(path, MAX_TOTAL)) for path in named_files(names)]
    for path, data in texts:
        if is_archive(data) or is_xml(data) or path.endswith(".toml"):
            raise InputError("is a machine by itself: give it as the only --from", path)
    return _pasted_texts(texts)


def _pasted_texts(texts: Sequence[tuple[str, bytes]]) -> Reader:
    from railgauge.topo.facts.pasted.read import read

    return CaptureReader(read(texts))


def is_xml(data: bytes) -> bool:
    """Whether the bytes are a topology file, with text around or not, or the tables of rocm-smi that become one, rather
    than hwloc's XML or text.
    """
    from railgauge.topo.facts.pasted.hwloc import is_hwloc

    if SYSTEM.search(data) or OF_ROCM.search(data):
        return not is_hwloc(data)
    first = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    return first[:1] in (b"<", b"") and not is_hwloc(data) and not OF_PAGE.match(first)


def with_kernel_log(reader: Reader, path: str) -> Reader:
    """The reader with the kernel log of a file (- is stdin) in place of the machine's; InputError if there is none."""
    answer = kernel_log_file(path)
    if isinstance(reader, CaptureReader):
        return CaptureReader(replace(reader.capture, facts={**reader.capture.facts, "kernel_log": answer}))
    assert isinstance(reader, LiveReader)
    reader.ask["kernel_log"] = lambda: answer
    return reader


def fixture_path(name: str) -> str:
    """The capture or description of a fixture; InputError that lists the fixtures if none has that name."""
    known = fixtures()
    if name not in known:
        near = did_you_mean(f"@{name}", [f"@{one}" for one in known])
        names = ", ".join(f"@{one}" for one in known) or "none"
        raise InputError(f"unknown fixture @{name}{near}; use one of: {names}")
    return known[name]


def fixtures() -> dict[str, str]:
    """The capture or description of each fixture, by name."""
    package = os.path.realpath(os.path.join(os.path.realpath(__file__), "..", "..", ".."))
    folder = os.path.join(package, "fixtures")
    return {one: path for one in sorted(os.listdir(folder)) if (path := _fixture_file(os.path.join(folder, one)))}


def _fixture_file(folder: str) -> str | None:
    paths = (os.path.join(folder, name) for name in ("capture.tar.gz", DESCRIPTION))
    return next((path for path in paths if os.path.isfile(path)), None)
