# SPDX-License-Identifier: Apache-2.0
"""libibverbs, or its provider for a kind of device, is not installed."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.rdma import VERBS_PROVIDER_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.node.verbs_device_missing import severity
from railgauge.topo.machine import Machine

NO_LIBRARY = ("libibverbs.so", "cannot open shared object")


def _check(machine: Machine) -> Iterator[Finding]:
    stack = machine.sources.verbs_stack
    devices = machine.sources.rdma
    reason = machine.sources.verbs.reason
    if reason is not None:
        absent = any(sign in reason for sign in NO_LIBRARY)
        if absent:
            level = Level.FAIL if has_gpus(machine) else Level.INFO
            yield RULE.finding(level, machine.host, f"libibverbs cannot be loaded: {reason}", reason=reason)
        else:
            yield RULE.unknown(machine.host, reason)
        return
    wanted = dict(stack.drivers)
    lost = [
        device
        for device in devices
        if device.name not in machine.sources.verbs.names and not stack.lacks_node(device.name)
    ]
    if not lost and devices and not machine.sources.verbs.names:
        yield RULE.unknown(machine.host, "no device has a node in /dev/infiniband, so libibverbs lists none")
    working = {wanted.get(name) for name in machine.sources.verbs.names}
    for device in lost:
        provider = wanted.get(device.name)
        known = provider in stack.providers
        works = provider is not None and provider in working
        yield RULE.finding(
            severity(machine, {one.name for one in lost}, device),
            device.name,
            "libibverbs does not list it" + _why(provider, known=known, works=works),
            provider=provider,
            providers=list(stack.providers),
        )


def _why(provider: str | None, *, known: bool, works: bool) -> str:
    """What its provider has to do with it. works: whether other devices are listed by it."""
    if works:
        return f", though its provider {provider} lists others: its node in /dev/infiniband, or the device itself"
    missing = ", which is configured, so its library is missing" if known else ""
    return f": it needs the provider {provider}{missing}" if provider else ""


RULE = Rule(
    card=VERBS_PROVIDER_MISSING,
    concerns=lambda machine: machine.facts is None or bool(machine.facts.rdma),
    check=_check,
)
