# SPDX-License-Identifier: Apache-2.0
"""A topology file that is inspected: read from its path, and as it was written."""

import os
import shlex

from railgauge.topo.errors import InputError
from railgauge.topo.files.compression import is_archive, unpack
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.machine import Machine, inspected
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.text import BYTE_ORDER_MARK, MAX_BYTES, alone
from railgauge.topo.xml.topology import Topology


def read(path: str, beside: Machine | None = None) -> Machine:
    """Read a topology file, for the machine `beside`; InputError with the line if it is not one."""
    return inspected(_topology_bytes(path), path, beside)


def text_of(file: Machine) -> bytes:
    """Its bytes; those that `topo dump` would write for a machine without a file."""
    given = file.topo_file.content if file.topo_file else None
    return topology_file.dumps(file.topology).encode() if given is None else given


def as_written(file: Machine) -> Topology:
    """Its topology with the elements that NCCL does not read."""
    return topology_file.loads(text_of(file), file.topology.path or "") if file.topo_file else file.topology


def _topology_bytes(path: str) -> bytes:
    """The bytes of a file, of a text with a topology in it (a ConfigMap, a mail) that alone; InputError if it is
    unreadable, or another kind of source for --from.
    """
    if not _names_machine(path):
        data = read_bytes(path, MAX_BYTES, packed=True)
        if not is_archive(data):
            return data if data.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"<") else alone(data, "system")
        if (plain := unpack(data, path)).lstrip().startswith(b"<"):
            return plain
    dump = f"railgauge topo dump --from {shlex.quote(path)} -o FILE"
    raise InputError(f"a machine, not a topology file; write one with: {dump}", path)


def _names_machine(path: str) -> bool:
    """Whether it is a fixture, a folder or a description."""
    is_fixture = path.startswith("@") and not os.path.exists(path)
    return is_fixture or os.path.isdir(path) or path.endswith(".toml")
