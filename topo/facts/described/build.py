# SPDX-License-Identifier: Apache-2.0
"""From a machine description to the capture the machine would have given. The format: docs/reference/fixtures.md."""

import os
from typing import Any

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import SCHEMA, Capture
from railgauge.topo.facts.described.changes import change_facts, change_files
from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.described.gpus import gpu_facts, read_gpus
from railgauge.topo.facts.described.health import health_facts
from railgauge.topo.facts.described.host import DescribedHost, host_files, read_host
from railgauge.topo.facts.described.nic_facts import interface_facts, verbs_facts
from railgauge.topo.facts.described.nic_files import nic_files
from railgauge.topo.facts.described.nic_model import read_nics
from railgauge.topo.facts.described.nics import named_nics
from railgauge.topo.facts.described.pci import read_tree
from railgauge.topo.facts.described.pci_files import pci_files
from railgauge.topo.facts.described.pci_model import PciModel, read_model
from railgauge.topo.facts.described.section import LARGEST, Section, parse
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.files.input_file import read_bytes

Made = tuple[Files, dict[str, Any]]


def build(data: bytes, path: str) -> Capture:
    """The capture of the machine that a machine.toml describes; `path` stands in errors and is where `base` starts."""
    from railgauge import __version__

    files, facts = _make(data, path, ())
    for name, document in facts.items():
        if wrong := misfit(document, f"facts/{name}.json"):
            raise InputError(wrong, path)
    manifest = {
        "schema": SCHEMA,
        "host": files.texts.get("/proc/sys/kernel/hostname", ""),
        "time": "1970-01-01T00:00:00Z",
        "version": __version__,
        "problems": {},
        "note": "described by hand, not recorded",
    }
    return Capture(manifest=manifest, texts=files.texts, links=files.links, facts=facts)


def _make(data: bytes, path: str, above: tuple[str, ...]) -> Made:
    """The machine of one file: that of its `base`, or one described from the ground up, and then its changes."""
    top = parse(data, path)
    files, facts = _base(top, path, above) if "base" in top else _described(top)
    health_facts(top, facts)
    change_files(top, files)
    change_facts(top, facts)
    top.text("about", "")  # what `railgauge machines` says of it
    top.section("expect")  # what tests hold the machine to
    top.end()
    return files, facts


def _base(top: Section, path: str, above: tuple[str, ...]) -> Made:
    base = os.path.realpath(os.path.join(os.path.dirname(path), top.text("base")))
    if base in above:
        raise top.wrong("base", f"base {top.text('base')!r} refers back to itself")
    return _make(read_bytes(base, LARGEST), base, (*above, base))


def _described(top: Section) -> Made:
    host, gpus, nics = read_host(top), read_gpus(top), read_nics(top)
    models = {kind: gpu.pci for kind, gpu in gpus.items()} | {kind: nic.pci for kind, nic in nics.items()}
    tree = read_tree(top, models | _devices(top))
    named = named_nics(top, tree, nics)
    files = Files()
    host_files(host, files)
    pci_files(tree, files)
    nic_files(named, host.name, files)
    facts = gpu_facts(top, tree, gpus, host.driver)
    facts |= verbs_facts(named) | {"interfaces": interface_facts(named), "affinity": {"cpus": _cores(host)}}
    return files, facts


def _devices(top: Section) -> dict[str, PciModel]:
    """[device.*] by kind: what is neither a GPU nor a NIC, such as an NVSwitch or a disk."""
    section, models = top.section("device"), {}
    for name in section:
        one = section.section(name)
        models[f"device.{name}"] = read_model(one, "0x000000")
        one.end()
    return models


def _cores(host: DescribedHost) -> list[int]:
    return sorted(core for cores in host.numa.values() for core in cores)
