# SPDX-License-Identifier: Apache-2.0
"""A NIC whose speed is 0, negative or missing: NCCL counts 10 Gb/s (`ncclTopoAddNet`)."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NET_SPEED_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth


def _check(file: Machine) -> Iterator[Finding]:
    for net in file.topology.placed("net"):
        speed = net.number("speed")
        if net.get("dev") is None or net.get("net") == "0" or (speed is not None and speed > 0):
            continue
        text = net.get("speed")
        yield RULE.at(
            net,
            Level.INFO if text is None else Level.WARN,
            f"speed is {text!r}" if text is not None else "speed is missing: NCCL asks its network plugin",
            subject=net.get("name"),
            effect=f"counted as {bandwidth.net(0):g} GB/s",
            speed=text,
        )


RULE = TopologyFileRule(card=NET_SPEED_UNKNOWN, check=_check)
