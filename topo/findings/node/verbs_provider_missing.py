# SPDX-License-Identifier: Apache-2.0
"""libibverbs, or its provider for a kind of device, is not installed."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.rdma import VERBS_PROVIDER_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.node.verbs_device_missing import severity

NO_LIBRARY = ("libibverbs.so", "cannot open shared object")


def _check(case: Case) -> Iterator[Finding]:
    stack = case.evidence.verbs_stack
    devices = case.inventory.rdma if case.inventory else ()
    reason = case.verbs.reason
    if reason is not None:
        absent = any(sign in reason for sign in NO_LIBRARY)
        if absent:
            level = Level.FAIL if has_gpus(case) else Level.INFO
            yield RULE.finding(level, case.host, f"libibverbs cannot be loaded: {reason}", reason=reason)
        else:
            yield RULE.unknown(case.host, reason)
        return
    wanted = dict(stack.drivers)
    lost = [device for device in devices if device.name not in case.verbs.names and not stack.lacks_node(device.name)]
    if not lost and devices and not case.verbs.names:
        yield RULE.unknown(case.host, "no device has a node in /dev/infiniband, so libibverbs lists none")
    for device in lost:
        provider = wanted.get(device.name)
        known = provider in stack.providers
        yield RULE.finding(
            severity(case, {one.name for one in lost}, device),
            device.name,
            f"libibverbs does not list it{f': it needs the provider {provider}' if provider else ''}"
            + (", which is configured, so its library is missing" if known else ""),
            provider=provider,
            providers=list(stack.providers),
        )


RULE = Rule(
    card=VERBS_PROVIDER_MISSING, concerns=lambda case: case.inventory is None or bool(case.inventory.rdma), check=_check
)
