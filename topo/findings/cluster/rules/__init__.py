# SPDX-License-Identifier: Apache-2.0
"""Findings that take several nodes to see: one file for each id, a function of all individuals."""

from collections.abc import Iterator, Sequence
from functools import partial

from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.cluster.rules import (
    bootstrap,
    duplicate_gpu,
    host_id_collision,
    mtu_mismatch,
    rail_unreachable,
)
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import Finding


def across(nodes: Sequence[Examined]) -> Iterator[Finding]:
    """What all of them find."""
    for rule in (host_id_collision, duplicate_gpu, bootstrap, rail_unreachable, mtu_mismatch):
        yield from guarded(rule.RULE.id, "", partial(rule.find, nodes))
