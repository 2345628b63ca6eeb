# SPDX-License-Identifier: Apache-2.0
"""Reads the machine that a rank runs on, and saves what it read; names the files of a node."""

from collections.abc import Mapping
from pathlib import Path

from railgauge.topo.files.compression import WRITERS
from railgauge.topo.machine import Machine, load_machine, saved


def read_machine(environ: Mapping[str, str], topo_file: str | None = None, save_capture: str | None = None) -> Machine:
    """This machine, or a topology file, which counts as a whole.

    `save_capture`: a file for the capture of this machine; without `topo_file` the answer is that of the capture.

    Raises:
        InputError: a topology file is unreadable or invalid. UnavailableError: the capture cannot be written.
    """
    capture = saved(save_capture, None, environ) if save_capture else None
    return load_machine(topo_file or capture, environment=environ)


def dump_path(path: str, name: str) -> str:
    """The file of one of several nodes: `graph.txt` becomes `graph.gpu-01.txt`, `a.tar.zst` `a.gpu-01.tar.zst`."""
    suffix = next((one for one in WRITERS if path.endswith(one)), Path(path).suffix)
    return str(Path(f"{path.removesuffix(suffix)}.{name}{suffix}"))
