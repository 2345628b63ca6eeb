# SPDX-License-Identifier: Apache-2.0
"""NCCL_IB_HCA names ports that do not exist."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.rdma import IB_HCA_NOMATCH
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.hca import HcaEntry, matched, parse_hca

SETTING = "NCCL_IB_HCA"


def _check(machine: Machine) -> Iterator[Finding]:
    hca = parse_hca(machine.settings.get(SETTING))
    devices = machine.sources.rdma
    ports = [(one.name, port.number) for one in devices for port in one.ports]
    value = machine.settings.get(SETTING, "")
    if ports and value and not any(hca.takes(*port) for port in ports):
        yield RULE.finding(
            Level.FAIL,
            SETTING,
            f"{value!r} matches none of {', '.join(dict.fromkeys(name for name, _ in ports))}: NCCL falls back "
            f"to sockets",
            value=value,
            devices=[name for name, _ in ports],
        )
        return
    unmatched = [entry for entry, named in matched(hca, ports) if not named]
    meant = not hca.exclude and bool(ports or machine.sources.gpus)
    yield from (_unmatched(entry, value, bool(ports), meant=meant) for entry in unmatched)


def _unmatched(entry: HcaEntry, value: str, some: bool, *, meant: bool) -> Finding:
    """An entry that matches no port; INFO if it excludes ports or the machine has no GPU."""
    where = "matches no port of this machine" if some else "names a port, but this machine has no RDMA device"
    level = Level.WARN if meant else Level.INFO
    return RULE.finding(level, entry.text, f"{entry.text!r} of {SETTING} {where}", value=value)


RULE = Rule(card=IB_HCA_NOMATCH, needs=(Need.MACHINE, Need.SETTINGS), check=_check)
