# SPDX-License-Identifier: Apache-2.0
"""A NIC that may not use relaxed ordering, or a setting that forbids it."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.pcie import RELAXED_ORDERING_OFF
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus, nics
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.parameter import parameter

SETTING = "NCCL_IB_PCI_RELAXED_ORDERING"
AUTO = 2  # NCCL's default: on if libibverbs supports it


def _check(machine: Machine) -> Iterator[Finding]:
    value = machine.settings.get(SETTING)
    if parameter(machine.settings, SETTING, AUTO) == 0:
        yield RULE.finding(
            Level.WARN if gpus(machine) else Level.INFO,
            SETTING,
            f"{SETTING}={value}: NCCL registers memory without relaxed ordering",
            effect="every write of GPUDirect RDMA waits for the one before it; in VMs bandwidth drops to a half "
            "or a tenth",
            value=value,
        )
    yield from _functions(machine)


def _functions(machine: Machine) -> Iterator[Finding]:
    guest = bool(machine.facts and machine.facts.host.virtual)
    unread = []
    for nic in nics(machine):
        config = machine.sources.pci_config.get(nic.bus_id)
        allowed = config.relaxed_ordering if config else None
        if allowed is None:
            unread.append(nic.bus_id)
        elif not allowed and (guest or nic.physfn):
            yield RULE.unknown(
                nic.bus_id, f"{nic.bus_id} is a virtual function: the setting of its physical function decides"
            )
        elif not allowed:
            yield RULE.finding(
                Level.WARN,
                nic.bus_id,
                f"Device Control of {nic.bus_id} forbids relaxed ordering (RlxdOrd-)",
                effect="writes into GPU memory wait for each other; the link is not filled",
                relaxed_ordering=False,
            )
    if unread:
        count = "1 NIC" if len(unread) == 1 else f"{len(unread)} NICs"
        yield RULE.unknown(unread[0], f"Device Control of {count} can be read by root only", nics=unread)


RULE = Rule(
    card=RELAXED_ORDERING_OFF,
    needs=(Need.MACHINE, Need.PCI),
    concerns=lambda machine: machine.facts is None or any(not device.virtual for device in machine.facts.rdma),
    check=_check,
)
