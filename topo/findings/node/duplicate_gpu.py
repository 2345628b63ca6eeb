# SPDX-License-Identifier: Apache-2.0
"""Two GPUs with the same bus id or UUID."""

from collections import Counter
from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.gpus import DUPLICATE_GPU
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    gpus = machine.sources.gpus
    indices: dict[str, list[int]] = {}
    for gpu in gpus:
        indices.setdefault(f"bus id {gpu.bus_id}", []).append(gpu.index)
        if gpu.uuid:
            indices.setdefault(f"UUID {gpu.uuid}", []).append(gpu.index)
    yield from (_finding(what, found) for what, found in indices.items() if len(found) > 1)
    for (_, number), count in Counter(gpu.key for gpu in machine.topology.placed("gpu")).items():
        if count > 1:
            where = next(gpu.bus_id for gpu in machine.topology.placed("gpu") if gpu.key[1] == number)
            yield _finding(
                f"bus id {where}", [gpu.number("dev") for gpu in machine.topology.placed("gpu") if gpu.bus_id == where]
            )


def _finding(what: str, indices: Sequence[int | None]) -> Finding:
    return RULE.finding(
        Level.FAIL,
        what.rpartition(" ")[2],
        f"{len(indices)} GPUs have the {what} (indices {', '.join(map(str, indices))})",
        effect="NCCL rejects two ranks on the same GPU",
        indices=list(indices),
    )


RULE = Rule(
    card=DUPLICATE_GPU,
    needs=(Need.NVML,),
    concerns=lambda machine: machine.facts is None or has_gpus(machine),
    check=_check,
)
