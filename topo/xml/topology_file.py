# SPDX-License-Identifier: Apache-2.0
"""topo.txt: NCCL's topology XML, version 1 (NCCL_TOPO_DUMP_FILE writes it, NCCL_TOPO_FILE reads it); RCCL's, version 2.

Format: NCCL's and RCCL's src/graph/xml.cc. Unknown elements and attributes are kept as they are. What RCCL writes as
<xgmi>, with the attributes of <nvlink>, is a <nvlink> of the tree: RCCL treats XGMI as NCCL does NVLink.
"""

from dataclasses import replace

from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.text import MAX_BYTES, parse, write
from railgauge.topo.xml.topology import Topology

VERSION, RCCL_VERSION = 1, 2  # NCCL_TOPO_XML_VERSION of each
NVLINK, XGMI = "nvlink", "xgmi"


def load(path: str) -> Topology:
    """Read a topology file; InputError as `loads`, and when it is unreadable."""
    return loads(read_bytes(path, MAX_BYTES), path)


def loads(text: str | bytes, name: str | None = None) -> Topology:
    """Read a topology; `name` stands for the path in errors.

    InputError with path and line when it is unsafe or not a topology.
    """
    root = parse(text.encode() if isinstance(text, str) else text, name, "system")
    version = root.integer("version", name)
    amd = _has_amd_gpus(root)
    if version != VERSION and not (version == RCCL_VERSION and amd):
        raise InputError(f"topology version is {version}, expected {VERSION}", name, root.line)
    return Topology(root=_renamed(root, XGMI, NVLINK) if amd else root, path=name)


def is_rccl(topology: Topology) -> bool:
    """Whether RCCL wrote it; NCCL refuses its version, which is 2 since it has <xgmi>."""
    return _has_amd_gpus(topology.root)


def _has_amd_gpus(root: Element) -> bool:
    return any(one.name == XGMI or (one.name == "gpu" and one.get("gcn")) for one in root.walk())


def _renamed(element: Element, name: str, other: str) -> Element:
    children = tuple(_renamed(child, name, other) for child in element.children)
    return replace(element, name=other if element.name == name else element.name, children=children)


def dumps(topology: Topology) -> str:
    """The topology as NCCL or RCCL would write it, byte for byte."""
    return write(_renamed(topology.root, NVLINK, XGMI) if is_rccl(topology) else topology.root)
