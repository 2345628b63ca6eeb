# SPDX-License-Identifier: Apache-2.0
"""Described machines with changes, as the rules see them."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from railgauge.topo.description.build import build
from railgauge.topo.machine import fixture_path, load_machine
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rule import examine
from railgauge.topo.rules.rules import RULES
from railgauge.topo.sources.capture import CaptureReader

IB, NET = "/sys/class/infiniband", "/sys/class/net"


@cache
def machine(name):
    return load_machine(f"@{name}")


@cache
def capture(name):
    path = fixture_path(name)
    return build(Path(path).read_bytes(), path)


def real(found, path):
    """The path behind the link of a device or interface, as the kernel has it."""
    folder = "/".join(path.split("/")[:5])
    target = CaptureReader(found).realpath(folder) if folder.startswith((IB, NET)) else None
    return target + path[len(folder) :] if target else path


def case(name, *, files=None, facts=None, settings=None, live=False):
    """A fixture after changes: files (None removes one, and all below it), facts by name, NCCL's settings."""
    found = capture(name)
    texts = dict(found.texts)
    for path, text in (files or {}).items():
        at = real(found, path)
        texts = {one: old for one, old in texts.items() if text is not None or not f"{one}/".startswith(f"{at}/")}
        texts |= {} if text is None else {at: text}
    told = {**found.facts, **(facts or {})}
    if settings is not None:
        told["settings"] = {"environment": settings, "files": ["/root/.nccl.conf", "/etc/nccl.conf"]}
    changed = replace(found, texts=texts, facts={key: fact for key, fact in told.items() if fact is not None})
    return Case(replace(machine(name), reader=CaptureReader(changed), host="node"), live=live)


def levels(identifier, one):
    """What a rule says of a machine: (level, subject) of each finding."""
    rule = next(rule for rule in RULES if rule.id == identifier)
    return [(str(finding.level), finding.subject) for finding in examine(rule, one)]


def worst(identifier, one):
    """The worst level that a rule gives; None where it has nothing to say."""
    order = ("PASS", "INFO", "UNKNOWN", "WARN", "FAIL")
    return max((level for level, _ in levels(identifier, one)), key=order.index, default=None)
