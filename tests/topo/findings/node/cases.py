# SPDX-License-Identifier: Apache-2.0
"""Fixtures after changes, as the rules see them, and what the rules find there."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from railgauge.topo.facts.capture import CaptureReader, loads
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.facts.sources.kernel_events import KernelEvents
from railgauge.topo.findings.node.baseline import SinceBaseline
from railgauge.topo.findings.node.rule import at_cost, examine
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.machine import Machine, recorded
from railgauge.topo.xml import topology_file

IB, NET, PCI = "/sys/class/infiniband", "/sys/class/net", "/sys/bus/pci/devices"
SEVERAL = re.compile(r"; on 4 nodes (?P<old>[\d.]+) -> (?P<new>[\d.]+) GB/s busbw \((?P<change>[+-]\d+) %\)$")
"""What a larger job loses, where that is another share."""
WORSE = ("PASS", "INFO", "UNKNOWN", "WARN", "FAIL")


class Link(NamedTuple):
    """A link, in place of a file's text."""

    target: str


@cache
def capture(name):
    """What a fixture holds."""
    path = Path(fixture_path(name))
    return (build if path.suffix == ".toml" else loads)(path.read_bytes(), str(path))


def changed(name, *, files=None, facts=None, settings=None):
    """A fixture after changes.

    files: texts and Links by path, None removes what is there and all below. facts: by the way to them with dots, items
    of lists by their number ("nvml.gpus.0.mig"), None removes. settings: NCCL's, in the environment.
    """
    return with_changes(capture(name), files=files, facts=facts, settings=settings)


def with_changes(found, *, files=None, facts=None, settings=None):
    """A recording after changes, as `changed`."""
    made = Files()
    made.texts.update(found.texts)
    made.links.update(found.links)
    for path, content in (files or {}).items():
        if content is None:
            made.remove(path)
        elif isinstance(content, Link):
            made.link(made.real(path), content.target)
        else:
            made.text(made.real(path), content)
    told = {"facts": json.loads(json.dumps(found.facts))}  # no two GPUs share a list
    for way, value in (facts or {}).items():
        _set(told, ["facts", *way.split(".")], value)
    if settings is not None:
        told["facts"]["settings"] = {"environment": settings, "files": ["/root/.nccl.conf", "/etc/nccl.conf"]}
    return replace(found, texts=made.texts, links=made.links, facts=told["facts"])


def _set(there, way, value):
    first, *rest = [int(part) if part.isdecimal() else part for part in way]
    if rest:
        _set(there.setdefault(first, {}) if isinstance(there, dict) else there[first], list(map(str, rest)), value)
    elif value is None:
        there.pop(first, None)
    else:
        there[first] = value


def case(name, **changes):
    """A fixture after changes, scanned anew."""
    return replace(recorded(CaptureReader(changed(name, **changes))), host="node")


@cache
def healthy():
    """A DGX H100 whose GPUs and kernel log have no fault."""
    lines = '[health]\ngpus = true\nkernel_log = ["[    0.000000] Linux version 5.15"]'
    path = fixture_path("dgx-h100")
    return build(f'base = "{path}"\n{lines}'.encode(), path)


def health(*lines, later=None, **facts):
    """The same after changes: lines of its kernel log, and facts of gpu_health with __ for dots; later: of the second
    reading. The readings begin the same.
    """
    changes = {f"gpu_health.{way.replace('__', '.')}": value for way, value in facts.items()}
    changes |= {f"gpu_health_later.{way}": value for way, value in (later or {}).items()}
    if lines:
        events = KernelEvents()
        events.read("\n".join(lines).encode())
        changes["kernel_log.events"] = events.facts()
    made = with_changes(healthy(), facts=changes)
    return replace(recorded(CaptureReader(made)), host="node")


def file_case(text):
    """A topology file in place of a machine."""
    return Machine(topology=topology_file.loads(text.encode(), "topo.xml"))


def findings(identifier, one, cost=1):
    """What one rule finds on a machine, or since a baseline; `cost` as in `check -r`."""
    rule = at_cost(next(rule for rule in RULES if rule.id == identifier), cost)
    return list(examine(rule, one.machine, one) if isinstance(one, SinceBaseline) else examine(rule, one))


def levels(identifier, one):
    """The levels that a rule gives."""
    return {finding.level for finding in findings(identifier, one)}


def subjects(identifier, one, cost=1):
    """What a rule says of a machine: (level, subject) of each finding."""
    return [(finding.level, finding.subject) for finding in findings(identifier, one, cost)]


def worst(identifier, one):
    """The worst level that a rule gives; None where it has nothing to say."""
    return max(levels(identifier, one), key=WORSE.index, default=None)


def alarms(one):
    """All that any rule warns of: (id, level, subject)."""
    return {(one.id, one.level, one.subject) for one in check(one) if one.level in ("WARN", "FAIL")}
