# SPDX-License-Identifier: Apache-2.0
"""Small clusters for tests: the same machine several times, each another individual, and changed ones among them."""

import copy
import functools
import gzip
import io
import tarfile
from dataclasses import replace

from railgauge.fixtures.__main__ import load
from railgauge.fixtures.fleet import member
from railgauge.topo.facts.capture import Capture, dumps
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.files.compression import unpack
from railgauge.topo.findings.cluster.folder import node_files, read_files

SETTINGS = {"environment": {"NCCL_DEBUG": "WARN", "NCCL_HOSTID": "to be left out"}, "files": ["/etc/nccl.conf"]}


@functools.cache
def usual(base: str = "dgx-h100") -> Capture:
    """A machine with what descriptions leave out: VBIOS, CUDA, settings."""
    machine = load(base)
    facts = copy.deepcopy(machine.facts)
    for gpu in facts.get("nvml", {}).get("gpus", []):
        gpu["vbios"] = "96.00.89.00.01"
    if "nvml" in facts:
        facts["nvml"]["cuda"] = 12040
    return replace(machine, facts={**facts, "settings": SETTINGS})


def changed(toml: str, base: str = "dgx-h100") -> Capture:
    """The same machine with [files] and [facts] changed as in a machine.toml."""
    made = build(f'base = "{fixture_path(base)}"\n{toml}'.encode(), "machine.toml")
    ours = usual(base).facts
    facts = {name: _merged(ours.get(name), made.facts.get(name)) for name in {*ours, *made.facts}}
    return replace(made, facts=facts)


def _merged(ours, theirs):
    """Their answers, and of ours what they lack."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {key: _merged(ours.get(key), theirs.get(key)) for key in {**ours, **theirs}}
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [_merged(*pair) for pair in zip(ours, theirs, strict=True)]
    return ours if theirs is None else theirs


def without(machine: Capture, *bus_ids: str) -> Capture:
    """The machine without some of its PCI functions and all that is on them."""

    def is_gone(text):
        return any(bus_id in text for bus_id in bus_ids)

    facts = copy.deepcopy(machine.facts)
    facts["nvml"]["gpus"] = [gpu for gpu in facts["nvml"]["gpus"] if not is_gone(gpu["pci"].lower())]
    return replace(
        machine,
        texts={path: text for path, text in machine.texts.items() if not is_gone(path)},
        links={path: to for path, to in machine.links.items() if not (is_gone(path) or is_gone(to))},
        facts=facts,
    )


def write(folder, name, machine, *, suffix=".tar.gz"):
    """The node's capture; .tar.gz is packed in a hurry here."""
    data = dumps(member(machine, name), ".tar.gz")
    (folder / f"{name}{suffix}").write_bytes(data if suffix == ".tar.gz" else gzip.compress(unpack(data, name), 1))


def read(folder):
    return read_files(node_files(str(folder)), lambda more: None)


def archive(**members):
    """A tar of these files, which is no capture."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()
