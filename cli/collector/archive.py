# SPDX-License-Identifier: Apache-2.0
"""Makes the collector's archive, a zip file that Python runs: `python -m railgauge.cli.collector.archive FILE`.

It holds the whole of topo/, the modules of cli/ below, and pynvml, which is one module of pure Python too. The same
sources make the same bytes.
"""

import io
import json
import os
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from railgauge.topo.errors import UnavailableError
from railgauge.topo.files.output_file import write_file

CLI = (
    "__init__.py",
    "collector/__init__.py",
    "collector/main.py",
    "everywhere.py",
    "findings_status.py",
    "json_text.py",
    "main.py",
    "output.py",
    "streams.py",
    "topo/__init__.py",
    "topo/archive.py",
)
PROFILES = "topo/expect/profiles"
START = "cli/collector/start.py"
HEAD = b"#!/usr/bin/env python3\n"


def archive() -> bytes:
    """The archive. UnavailableError where pynvml is not installed here."""
    packed = io.BytesIO(HEAD)
    packed.seek(0, os.SEEK_END)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as made:
        for name, data in sorted(_files()):
            made.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files() -> Iterator[tuple[str, bytes]]:
    """The archive's files: names and contents; the profiles as JSON, which every Python reads."""
    package = Path(__file__).parents[2]
    for path in ("__init__.py", *(f"cli/{name}" for name in CLI)):
        yield f"railgauge/{path}", (package / path).read_bytes()
    for file in (package / "topo").rglob("*.py"):
        yield f"railgauge/{file.relative_to(package)}", file.read_bytes()
    for file in (package / PROFILES).glob("*.toml"):
        name = file.relative_to(package).with_suffix(".json")
        yield f"railgauge/{name}", json.dumps(tomllib.loads(file.read_text())).encode()
    yield "__main__.py", (package / START).read_bytes()
    nvml = find_spec("pynvml")
    if nvml is None or nvml.origin is None:
        raise UnavailableError("the collector takes the module pynvml along, which is not here: install nvidia-ml-py")
    yield "pynvml.py", Path(nvml.origin).read_bytes()


if __name__ == "__main__":
    write_file(sys.argv[1], archive())
    os.chmod(sys.argv[1], 0o755)
