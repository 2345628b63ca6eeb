# SPDX-License-Identifier: Apache-2.0
"""A process that is bound to cores away from a GPU: by a cpuset, a launcher or a container."""

from collections.abc import Iterator, Mapping

from railgauge.topo.facts.sources.affinity import allowed_cores
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.findings.cards.gpus import NUMA_MISBOUND
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus, has_gpus
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.values.spans import listed


def _check(machine: Machine) -> Iterator[Finding]:
    allowed = allowed_cores(machine.reader) if machine.reader else None
    if allowed is None:
        yield RULE.unknown(machine.host, "the cores that the process may use were not captured")
        return
    nodes = _cores(machine)
    away = []
    for gpu in _own(machine):
        cores = nodes.get(gpu.numa)
        if cores and not cores & allowed:
            away.append((gpu, cores))
        elif gpu.numa is None and len(nodes) > 1:
            yield RULE.unknown(gpu.bus_id, f"the NUMA node of {gpu.bus_id} is unknown (numa_node is -1)")
    for gpu, cores in away:
        yield RULE.finding(
            Level.WARN,
            gpu.bus_id,
            f"{gpu.bus_id} is local to cores {_list(cores)}, but this process may use only {_list(allowed)}",
            effect=RULE.card.effect,
            allowed=_list(allowed),
            near=_list(cores),
        )


def _own(machine: Machine) -> list[PciFunction]:
    """The GPUs that NVML lists, if it answers: sysfs also shows those of other containers."""
    listed = {gpu.bus_id for gpu in machine.sources.gpus}
    return [gpu for gpu in gpus(machine) if gpu.bus_id in listed or not listed]


def _cores(machine: Machine) -> Mapping[int | None, frozenset[int]]:
    return {node.id: frozenset(node.cpus) for node in machine.topology.numa}


def _list(cores: frozenset[int]) -> str:
    return listed(sorted(cores))


RULE = Rule(
    card=NUMA_MISBOUND,
    needs=(Need.MACHINE, Need.PCI),
    concerns=lambda machine: machine.facts is None or has_gpus(machine),
    check=_check,
)
