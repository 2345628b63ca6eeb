# SPDX-License-Identifier: Apache-2.0
"""A topology file as people give it: whole, or broken off where they stopped copying; or what AMD's tools print."""

from railgauge.topo.errors import InputError
from railgauge.topo.facts.pasted import rocm_smi
from railgauge.topo.files.pasted_text import plain_text, without_prefixes
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.cut_off import closed
from railgauge.topo.xml.text import MAX_BYTES
from railgauge.topo.xml.topology import Topology


def pasted_topology(data: bytes, path: str) -> tuple[Topology, tuple[str, ...]]:
    """The topology, and what is assumed or missing, in words; InputError with path and line if it is none."""
    if len(data) > MAX_BYTES:
        return topology_file.loads(data, path), ()  # which refuses it
    if rocm_smi.is_rocm_smi(data.decode("utf-8", "replace")):
        made, words = rocm_smi.topology_of(without_prefixes(plain_text(data)))
        return topology_file.loads(made, path), words
    try:
        return topology_file.loads(data, path), ()
    except InputError:
        if (whole := closed(data)) is None or b"<pci" not in whole:
            raise
        return topology_file.loads(whole, path), (f"{path} breaks off: read as far as it goes",)
