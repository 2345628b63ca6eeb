# SPDX-License-Identifier: Apache-2.0
"""topo.txt: NCCL's topology XML, version 1 (NCCL_TOPO_DUMP_FILE writes it, NCCL_TOPO_FILE reads it).

Format: NCCL's src/graph/xml.cc. Unknown elements and attributes are kept as they are.
"""

from railgauge.topo.element import Element
from railgauge.topo.errors import InputError
from railgauge.topo.topology import Topology
from railgauge.topo.xml_text import parse, write

VERSION = "1"  # NCCL_TOPO_XML_VERSION


def loads(text: str | bytes, name: str | None = None) -> Topology:
    """Read a topology; `name` stands for the path in errors.

    InputError with path and line when it is unsafe or not a topology.
    """
    return _checked(parse(text.encode() if isinstance(text, str) else text, name, "system"), name)


def dumps(topology: Topology) -> str:
    """The topology as NCCL would write it, byte for byte."""
    return write(topology.root)


def _checked(root: Element, path: str | None) -> Topology:
    version = root.get("version")
    if version != VERSION:
        raise InputError(f"topology version is {version!r}, wanted {VERSION!r}", path, root.line)
    if not any(True for _ in root.all("cpu")):
        raise InputError("holds no <cpu>: every device hangs below one", path, root.line)
    return Topology(root=root, path=path)
