# SPDX-License-Identifier: Apache-2.0
"""A GPU whose sm, dev or gdr in the file differs from the machine: NCCL asks NVML only for what the file lacks.
Without a machine, one that has no GPUDirect RDMA where most of its model have.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import GPU_DIFFERS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.alike import odd
from railgauge.topo.findings.topology_file.nvlinks import gpus
from railgauge.topo.findings.topology_file.present import on_machine
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    for one in odd(file.topology.placed("gpu"), "gdr") if file.beside is None else ():
        message = f"gdr is {one.value}; {one.many} of {one.of} GPUs of the model have {one.usual}"
        yield RULE.at(one.element, Level.WARN, message, effect=_effect("gdr", one.value, one.usual), attribute="gdr")
    real = {gpu.key[1]: gpu for gpu in on_machine(file, "gpu")}
    untold = {gpu.bus_id for gpu in file.facts.gpus if gpu.gdr is None} if file.facts else set()
    for key, gpu in gpus(file).items():
        there = real.get(key[1])
        for attribute in ("sm", "dev", "gdr") if there else ():
            if there and not (attribute == "gdr" and there.bus_id in untold):
                yield from _compare(gpu, there, attribute)


def _compare(gpu: PlacedElement, there: PlacedElement, key: str) -> Iterator[Finding]:
    here, real = gpu.number(key), there.number(key)
    if here is not None and real is not None and here != real:
        message = f"{key} is {here} in the file, {real} on the machine"
        effect = _effect(key, here, real)
        yield RULE.at(gpu, Level.WARN, message, effect=effect, attribute=key, file=here, machine=real)


def _effect(key: str, here: int, real: int) -> str:
    if key == "sm":
        planned, there = bandwidth.nvlink(here), bandwidth.nvlink(real)
        return f"NCCL plans with {planned:g} GB/s per NVLink instead of {there:g} GB/s" if planned != there else ""
    if key == "dev":
        return f"NCCL reads the peer-to-peer state of GPU {here} from NVML"
    return "NCCL copies through host memory, although GPUDirect RDMA works" if real else "GPUDirect RDMA fails"


RULE = TopologyFileRule(card=GPU_DIFFERS, check=_check)
