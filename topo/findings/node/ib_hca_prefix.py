# SPDX-License-Identifier: Apache-2.0
"""An entry of NCCL_IB_HCA that matches more devices than intended: mlx5_1 also matches mlx5_10."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.rdma import IB_HCA_PREFIX
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.hca import matched, parse_hca

SETTING = "NCCL_IB_HCA"


def _check(machine: Machine) -> Iterator[Finding]:
    hca = parse_hca(machine.settings.get(SETTING))
    devices = machine.sources.rdma
    for entry, ports in matched(hca, ((one.name, port.number) for one in devices for port in one.ports)):
        names = list(dict.fromkeys(name for name, _ in ports))
        if entry.prefix in names and len(names) > 1:
            others = [name for name in names if name != entry.prefix]
            yield RULE.finding(
                Level.WARN,
                entry.text,
                f"{entry.text!r} of {SETTING} also {'excludes' if hca.exclude else 'matches'} {', '.join(others)}",
                value=machine.settings[SETTING],
                named=names,
            )


RULE = Rule(card=IB_HCA_PREFIX, needs=(Need.MACHINE, Need.SETTINGS), check=_check)
