# SPDX-License-Identifier: Apache-2.0
"""NVLinks whose number differs between their two ends: NCCL adds each direction separately."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NVLINK_ONE_SIDED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import gpus, to_gpu
from railgauge.topo.findings.topology_file.nvlinks import link as link_of
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.link_state.nvlink import one_sided
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.link_facts import nvlink_gpus
from railgauge.topo.values.busid import to_number


def _check(file: Machine) -> Iterator[Finding]:
    known = gpus(file)
    found = one_sided(nvlink_gpus(file.topology))
    uneven = {frozenset((short, other)): (short, fewer, more) for short, other, fewer, more in found}
    for link in file.topology.placed("nvlink"):
        here, there = link.key, (link.host, to_number(link.get("target") or ""))
        pair = uneven.pop(frozenset((here, there)), None) if to_gpu(link) else None
        if pair is None:
            continue
        short, fewer, more = pair
        one, other = (fewer, more) if here == short else (more, fewer)
        speeds = [number * link_of(gpu).gb_per_s for number, gpu in ((one, link), (other, known[there]))]
        yield RULE.at(
            link,
            Level.WARN,
            f"{link.bus_id} has {one} {link_of(link).name} to {known[there].bus_id}, which has {other} back",
            subject=known[short].bus_id,
            effect=f"{speeds[0]:g} GB/s in one direction, {speeds[1]:g} GB/s in the other",
            ends=[link.bus_id, known[there].bus_id],
            there=one,
            back=other,
            lines=[link.line, known[there].line],
        )


RULE = TopologyFileRule(card=NVLINK_ONE_SIDED, check=_check)
