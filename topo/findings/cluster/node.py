# SPDX-License-Identifier: Apache-2.0
"""One node of a cluster as attributes (topo/compare/attributes.py), without those of the individual machine.

A capture gives its inventory and NCCL's settings; a topology file its own facts. The scan of a capture, the slowest
step, runs only for a comparison with a topology file.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from railgauge.topo.compare.attributes import Attributes, of_topology
from railgauge.topo.compare.inventory_attributes import of_inventory, of_settings
from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import Capture, CaptureReader, loads
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.sources.host_identity import host_name
from railgauge.topo.facts.sources.nccl_topo_file import VIRTUAL
from railgauge.topo.facts.sources.sysfs_numa import numa_nodes
from railgauge.topo.files.compression import MAX_TOTAL, is_archive
from railgauge.topo.files.input_file import read_bytes

Sheet = tuple[Attributes, ...]
TOPOLOGY_FILE = "topology file"
HOST_ID = "NCCL_HOSTID"
"""The setting that should differ between hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A node by the name of its file. `host`: its own name, "" if not in the file.

    sheet: the attributes from its capture, None for a topology file. topology: those of NCCL's XML; None if not needed.
    seen: the result of the given Look.
    """

    name: str
    path: str
    host: str
    sheet: Sheet | None
    topology: Sheet | None
    seen: Any = None


Recording = tuple[Capture, CaptureReader]
Look = Callable[[str, str, Recording | None], Any]
"""Examines a node by name, file and capture (None for a topology file), in the process that reads it."""


def read_node(name: str, path: str, *, with_topology: bool, look: Look | None = None) -> ClusterNode:
    """Read a capture or a topology file. InputError if it is unreadable, or has several hosts."""
    data = read_bytes(path, MAX_TOTAL)
    if not is_archive(data):
        node = _of_file(name, path)
        return replace(node, seen=look(name, path, None)) if look else node
    capture = loads(data, path)
    reader = CaptureReader(capture)
    inventory = MachineFacts(reader)
    items = of_inventory(inventory, numa_nodes(reader))
    if text := reader.text(VIRTUAL):
        items += (_file(VIRTUAL, text),)
    if inventory.settings is not None:
        items += (of_settings(one for one in inventory.settings if one.name != HOST_ID),)
    return ClusterNode(
        name=name,
        path=path,
        host=host_name(reader) or "",
        sheet=_anonymous(items),
        topology=_scanned(path) if with_topology else None,
        seen=look(name, path, (capture, reader)) if look else None,
    )


def _of_file(name: str, path: str) -> ClusterNode:
    from railgauge.topo.machine import load_machine

    topology = load_machine(path).topology
    if len({cpu.get("host_hash") for cpu in topology.cpus}) > 1:
        raise InputError("has several hosts: give one file per node", path)
    return ClusterNode(name=name, path=path, host="", sheet=None, topology=_anonymous(of_topology(topology)))


def _scanned(path: str) -> Sheet:
    from railgauge.topo.machine import load_machine

    return _anonymous(of_topology(load_machine(path).topology))


def _file(path: str, text: str) -> Attributes:
    """A file that NCCL reads as a whole."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return Attributes(kind=TOPOLOGY_FILE, id=path, label=path, facts={"content": digest})


def _anonymous(items: tuple[Attributes, ...]) -> Sheet:
    """The attributes by id, without UUIDs, GUIDs and addresses, which always differ."""
    own = {value for item in items for value in item.identity.values() if value}
    found: dict[str, Attributes] = {}
    for item in items:
        names = tuple(name for name in item.names if name.partition(" port ")[0] not in own)
        found.setdefault(item.id, replace(item, identity={}, names=names))
    return tuple(found.values())
