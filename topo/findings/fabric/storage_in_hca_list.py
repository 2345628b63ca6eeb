# SPDX-License-Identifier: Apache-2.0
"""Captured ports that NCCL may use, on leaves that are not those of compute rails."""

from collections.abc import Iterator

from railgauge.topo.fabric.rails import RailRole, rail_of
from railgauge.topo.findings.cards.fabric import STORAGE_IN_HCA_LIST
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    if not examined.captured:
        yield RULE.unknown("fabric", "no captures of the nodes: give --captures FOLDER")
        return
    found: dict[tuple[str, str, str | None], list[str]] = {}
    for one, port in examined.captured.items():
        rail = rail_of(examined.fabric, examined.rails, one)
        if port.used and rail and rail.role is not RailRole.COMPUTE:
            found.setdefault((port.name, rail.name, port.setting), []).append(port.node)
    for (device, network, setting), nodes in found.items():
        why = "NCCL_IB_HCA is not set" if setting is None else f"NCCL_IB_HCA={setting}"
        yield RULE.card.finding(
            Level.WARN,
            device,
            f"NCCL may use {device}, which is on {network}: {why}",
            host=folded(nodes),
            evidence={"device": device, "network": network, "nccl_ib_hca": setting, "nodes": nodes},
        )
    of_job = {node for node, _ in examined.leaves_at}
    others = of_job - {one.node for one in examined.captured}
    if others:
        yield RULE.unknown("fabric", f"no captures of {len(others)} of {len(of_job)} nodes: {folded(others)}")


RULE = FileRule(card=STORAGE_IN_HCA_LIST, check=_check)
