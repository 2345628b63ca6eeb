# SPDX-License-Identifier: Apache-2.0
"""Ports without a LID, or captured ports that know no subnet manager."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.fabric import SUBNET_MANAGER_MISSING
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded

NOT_YET = ("Initialize", "Init", "INIT")


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    fabric = examined.fabric
    infiniband = [one for one in fabric.endpoints if len(one.address) == 16 and ":" not in one.address]
    if not infiniband:
        return
    if fabric.managers is not None and not fabric.managers:
        yield RULE.finding(Level.FAIL, "fabric", "OpenSM's list of the subnet names no device with a subnet manager")
        return
    without = [one for one in infiniband if not one.lid]
    waiting = [cable for cable in fabric.cables if cable.state in NOT_YET]
    unmanaged = sorted({port.node for port in examined.captured.values() if port.active and port.sm_lid == 0})
    if without and len(without) * 2 > len(infiniband):
        count = f"{len(without)} of {len(infiniband)} ports of nodes"
        yield RULE.finding(Level.FAIL, "fabric", f"{count} have no LID", ports=len(without))
    elif waiting:
        name = fabric.cable_name(waiting[0])
        yield RULE.finding(
            Level.FAIL, "fabric", f"{len(waiting)} links wait in INIT, such as {name}", links=len(waiting)
        )
    elif unmanaged:
        yield RULE.finding(Level.FAIL, "fabric", f"{folded(unmanaged)}: sm_lid is 0", nodes=unmanaged)


RULE = FileRule(card=SUBNET_MANAGER_MISSING, check=_check)
