# SPDX-License-Identifier: Apache-2.0
"""More NVLinks than the maximum of the GPU: 4, 6, 12, 18 from sm 60, 70, 80, 90 on (`ncclTopoGetXmlFromGpu`)."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.nvml import max_nvlinks
from railgauge.topo.findings.cards.topology_file import NVLINK_COUNT_HIGH
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import gpus, sm, totals
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth


def _check(file: Machine) -> Iterator[Finding]:
    counts = totals(file)
    for key, gpu in gpus(file).items():
        most = max_nvlinks(sm(gpu))
        if counts[key] > most and sm(gpu):
            speed = bandwidth.nvlink(sm(gpu))
            yield RULE.at(
                gpu,
                Level.WARN,
                f"{counts[key]} NVLinks, but a GPU of sm {sm(gpu)} has at most {most}",
                effect=f"NCCL plans {counts[key] * speed:g} GB/s; the maximum is {most * speed:g} GB/s",
                count=counts[key],
                most=most,
                sm=sm(gpu),
            )


RULE = TopologyFileRule(card=NVLINK_COUNT_HIGH, check=_check)
