# SPDX-License-Identifier: Apache-2.0
"""`topo show -o FILE`: the picture of a machine in the format of the file's suffix."""

import os
from typing import Any

from railgauge.cli.json_text import json_text
from railgauge.cli.machine_options import name_of
from railgauge.cli.output import document, write_text
from railgauge.topo.errors import UsageError
from railgauge.topo.facts.named_source import Source
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.render.matrix import matrix
from railgauge.topo.render.picture import dot, page, svg
from railgauge.topo.render.picture.from_system import picture
from railgauge.topo.render.picture.layout import lay_out
from railgauge.topo.render.picture.parts import Picture
from railgauge.topo.render.topology import system_document

SUFFIXES = (".svg", ".dot", ".json", ".html")


def check_suffix(path: str) -> str:
    """The suffix of a file; UsageError if it is no known format."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"-o {path}: the suffix selects the format; use one of {', '.join(SUFFIXES)}")
    return suffix


def write_picture(path: str, source: Source, machine: Machine, system: System) -> None:
    """Write the machine in the format of the suffix; `source` names a machine without a host name."""
    suffix = check_suffix(path)
    if suffix == ".json":
        write_text(path, json_text(topology_document(machine, system)) + "\n")
        return
    drawn = picture(system, machine.topology, machine.facts, name=machine.host or name_of(source))
    write_text(path, _text(suffix, drawn, machine, system))


def _text(suffix: str, drawn: Picture, machine: Machine, system: System) -> str:
    if suffix == ".svg":
        return svg.dumps(lay_out(drawn))
    if suffix == ".dot":
        return dot.dumps(drawn)
    return page.dumps(drawn, matrix(system, machine.topology, machine.facts), machine.warnings)


def topology_document(machine: Machine, system: System) -> dict[str, Any]:
    """The document railgauge/topology/1."""
    content = system_document(system, machine.topology, machine.facts)
    return document("topology", machine.host, **content, warnings=list(machine.warnings))
