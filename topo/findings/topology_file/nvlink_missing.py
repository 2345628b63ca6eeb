# SPDX-License-Identifier: Apache-2.0
"""A GPU with fewer NVLinks than most GPUs of its kind on the same host, or, on its machine, than NVML lists.

With an NVSwitch all GPUs have as many. Wired to each other they need not in a part of a machine, so there it takes
three quarters of at least three GPUs to tell what is usual.
"""

from collections import Counter
from collections.abc import Iterator

from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.elements import Placed, TopoFile
from railgauge.topo.findings.topology_file.nvlinks import gpus, sm, to_gpu, totals
from railgauge.topo.findings.topology_file.rule import Rule
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nvlink_faults import short_of_nvlinks
from railgauge.topo.values.busid import to_number


def _check(file: TopoFile) -> Iterator[Finding]:
    few = list(_beside_siblings(file))
    yield from few
    yield from _down(file, {finding.subject for finding in few})


def _beside_siblings(file: TopoFile) -> Iterator[Finding]:
    counts = totals(file)
    wired = {link.host for link in file.all("nvlink") if to_gpu(link)}
    kinds: dict[tuple[str, int], list[Placed]] = {}
    for gpu in gpus(file).values():
        kinds.setdefault((gpu.host, sm(gpu)), []).append(gpu)
    for (host, kind), same in kinds.items():
        usual, how_many = Counter(counts[gpu.key] for gpu in same).most_common(1)[0]
        if how_many > len(same) / 2 and (host not in wired or how_many >= max(3, len(same) * 3 / 4)):
            yield from (_finding(gpu, counts[gpu.key], usual, kind) for gpu in same if counts[gpu.key] < usual)


def _finding(gpu: Placed, count: int, usual: int, kind: int) -> Finding:
    lost = (usual - count) * bandwidth.nvlink(kind)
    return RULE.at(
        gpu,
        Level.WARN,
        f"{count} NVLinks, where most GPUs of this kind have {usual}",
        effect=f"{lost:g} GB/s less than its siblings",
        count=count,
        usual=usual,
    )


def _down(file: TopoFile, told: set[str]) -> Iterator[Finding]:
    """Links that are down on the machine, of GPUs about which nothing is told yet."""
    if file.machine is None or file.inventory is None:
        return
    system = build_system(file.machine.topology)
    short = {system.node(card).bus_id: shortage for card, shortage in short_of_nvlinks(system, file.inventory).items()}
    numbers = {to_number(bus_id): shortage for bus_id, shortage in short.items() if bus_id}
    for (_, number), gpu in gpus(file).items():
        if gpu.bus_id not in told and (shortage := numbers.get(number)):
            each = bandwidth.nvlink(sm(gpu))
            yield RULE.at(
                gpu,
                Level.WARN,
                f"{shortage.reason} on the machine",
                effect=f"{shortage.should * each:g} -> {shortage.has * each:g} GB/s for this GPU",
                count=shortage.has,
                listed=shortage.should,
            )


RULE = Rule(card=NVLINK_MISSING, check=_check)
