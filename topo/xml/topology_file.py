# SPDX-License-Identifier: Apache-2.0
"""topo.txt: NCCL's topology XML, version 1 (NCCL_TOPO_DUMP_FILE writes it, NCCL_TOPO_FILE reads it).

Format: NCCL's src/graph/xml.cc. Unknown elements and attributes are kept as they are.
"""

from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.xml.text import MAX_BYTES, parse, write
from railgauge.topo.xml.topology import Topology

VERSION = 1  # NCCL_TOPO_XML_VERSION


def load(path: str) -> Topology:
    """Read a topology file; InputError as `loads`, and when it is unreadable."""
    return loads(read_bytes(path, MAX_BYTES), path)


def loads(text: str | bytes, name: str | None = None) -> Topology:
    """Read a topology; `name` stands for the path in errors.

    InputError with path and line when it is unsafe or not a topology.
    """
    root = parse(text.encode() if isinstance(text, str) else text, name, "system")
    version = root.integer("version", name)
    if version != VERSION:
        raise InputError(f"topology version is {version}, expected {VERSION}", name, root.line)
    return Topology(root=root, path=name)


def dumps(topology: Topology) -> str:
    """The topology as NCCL would write it, byte for byte."""
    return write(topology.root)
