# SPDX-License-Identifier: Apache-2.0
"""Files of a machine recorded by other tools: archives of hwloc-gather-topology, tarballs and folders of sysfs.

They have files only, so facts from libraries and system calls (NVML, CUDA, addresses) are unknown there.
"""

import os
import re
from collections.abc import Iterable
from functools import partial

from railgauge.topo.errors import InputError
from railgauge.topo.facts.pasted.gpu_models import of_id
from railgauge.topo.facts.reader import Facts, LiveReader, Reader
from railgauge.topo.facts.sources.pci_config import live_pci_config
from railgauge.topo.facts.sources.sysfs_pci import DEVICES, gpu_bus_ids

RDMA_CLASS = re.compile(r"((?:[^/]+/)*?)[^/]+/ports/[0-9]+/(?:state|link_layer|gids)(?:/|$)")
MARKS = ("sys/bus", "sys/class", "sys/devices", "sys/module", "proc/cpuinfo")
ROOT = re.compile(rf"((?:[^/]+/)*?)(?:{'|'.join(MARKS)})(?:/|$)")
WHY = "a tree of files does not have it"


def place(names: Iterable[str], path: str) -> tuple[str, str]:
    """(prefix, path): where the tree begins in an archive, and what path on the machine that is.

    InputError when the members are neither a root with sys/ or proc/ nor the content of /sys/class/infiniband.
    """
    names = tuple(names)
    for shape, where in ((ROOT, "/"), (RDMA_CLASS, "/sys/class/infiniband/")):
        if prefixes := {found[1] for name in names if (found := shape.match(name))}:
            return min(prefixes, key=lambda prefix: (len(prefix), prefix)), where
    raise InputError("not a capture: no manifest.json, sys/ or proc/, and no RDMA devices", path)


def is_tree(folder: str) -> bool:
    """Whether a folder is such a tree."""
    return _root_in(folder) is not None


def _root_in(folder: str) -> str | None:
    """The folder, or the only folder in it, that holds sys/ or proc/; None for another. InputError if unreadable."""
    try:
        inside = [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", folder) from error
    roots = (folder, *(inside if len(inside) == 1 else ()))
    return next((root for root in roots if any(os.path.exists(os.path.join(root, name)) for name in MARKS)), None)


def tree_reader(folder: str) -> LiveReader:
    """A reader of an unpacked tree: the folder, or the only folder in it, holds sys/ or proc/; InputError otherwise."""
    root = _root_in(folder)
    if root is None:
        raise InputError("a folder without sys/ or proc/ in it; a capture is one file", folder)
    reader = LiveReader(root)
    reader.ask.update({name: partial(dict, why) for name, why in unknown_facts(reader).items()})
    reader.ask["pci_config"] = partial(live_pci_config, reader)
    return reader


def unknown_facts(reader: Reader) -> dict[str, Facts]:
    """The answers that such a tree lacks, each with the reason; GPUs by their PCI ids as CUDA lists them.

    NVML and CUDA only matter where there are GPUs, or may be: where no PCI device is recorded.
    """
    lacking = {"interfaces": "addresses of network interfaces"}
    if gpu_bus_ids(reader) or not reader.entries(DEVICES):
        lacking |= {"nvml": "NVML", "cuda": "CUDA"}
    facts: dict[str, Facts] = {name: {"error": f"{what}: {WHY}"} for name, what in lacking.items()}
    known = [(bus_id, of_id(reader.text(f"{DEVICES}/{bus_id}/device"))) for bus_id in gpu_bus_ids(reader)]
    gpus = [{"pci": bus_id, "name": None, "cc": list(cc)} for bus_id, cc in known if cc]
    return facts | ({"cuda": {"gpus": gpus}} if gpus else {})
