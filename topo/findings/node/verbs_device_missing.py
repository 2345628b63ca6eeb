# SPDX-License-Identifier: Apache-2.0
"""RDMA devices that the kernel shows and that this process cannot open."""

from collections.abc import Collection, Iterator

from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice
from railgauge.topo.facts.sources.verbs_stack import VerbsStack
from railgauge.topo.findings.cards.rdma import VERBS_DEVICE_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    stack = machine.sources.verbs_stack
    devices = machine.sources.rdma
    lost = {device.name: why for device in devices if (why := _why(machine, stack, device.name))}
    for device in devices:
        if device.name in lost:
            yield RULE.finding(
                severity(machine, lost, device), device.name, lost[device.name], nodes=list(stack.nodes or ())
            )
        elif stack.nodes is None and device.name not in machine.sources.verbs.names:
            yield RULE.unknown(device.name, "/dev/infiniband and libibverbs could not be read")


def severity(machine: Machine, lost: Collection[str], device: RdmaDevice) -> Level:
    """FAIL if none is left, WARN if a few of a kind are missing. PASS for a pod that has one of many, or all but those
    for storage, and for a machine without GPUs.
    """
    if not has_gpus(machine):
        return Level.INFO
    devices = machine.sources.rdma
    opened = [name for name in machine.sources.verbs.names if machine.sources.verbs.device(name).error is None]
    if len(lost) == len(devices) or (machine.sources.verbs.reason is None and not opened):
        return Level.FAIL
    kin = [one.name for one in devices if (one.board_id, one.hca_type) == (device.board_id, device.hca_type)]
    return Level.WARN if 2 * sum(name in lost for name in kin) < len(kin) else Level.INFO


def _why(machine: Machine, stack: VerbsStack, name: str) -> str:
    """Why a device cannot be opened; "" if it can or this is unknown."""
    if name in machine.sources.verbs.names:
        error = machine.sources.verbs.device(name).error
        return f"libibverbs cannot open it: {error}" if error else ""
    node = dict(stack.uverbs).get(name)
    return f"/dev/infiniband/{node or 'uverbs*'} does not exist" if stack.lacks_node(name) else ""


RULE = Rule(
    card=VERBS_DEVICE_MISSING, concerns=lambda machine: machine.facts is None or bool(machine.facts.rdma), check=_check
)
