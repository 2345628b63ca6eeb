# SPDX-License-Identifier: Apache-2.0
"""What --from names: the live machine, a fixture (@name), a capture, a folder, a description or a topology file."""

import os
from dataclasses import replace

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.facts.capture import Capture, CaptureReader, loads
from railgauge.topo.facts.live_reader import live_reader
from railgauge.topo.facts.reader import LiveReader, Reader
from railgauge.topo.facts.sources.kernel_log import kernel_log_file
from railgauge.topo.files.compression import MAX_TOTAL, is_archive
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.values.near import did_you_mean

DESCRIPTION = "machine.toml"


def open_source(source: str | Capture | None, root: str = "/") -> tuple[Reader | None, bytes]:
    """The reader of a machine, live, recorded or described; for a topology file None and its content."""
    if source is None or isinstance(source, Capture):
        return (live_reader(root) if source is None else CaptureReader(source)), b""
    if source == "":
        raise UsageError('--from "": give a topology XML, a capture, machine.toml or @fixture')
    path = fixture_path(source[1:]) if source.startswith("@") else source
    if os.path.isdir(path):
        from railgauge.topo.facts.foreign_tree import tree_reader

        return tree_reader(path), b""
    data = read_bytes(path, MAX_TOTAL)
    if path.endswith(".toml"):
        from railgauge.topo.facts.described.build import build

        return CaptureReader(build(data, path)), b""
    return (CaptureReader(loads(data, path)), b"") if is_archive(data) else (None, data)


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
