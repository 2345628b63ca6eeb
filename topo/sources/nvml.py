# SPDX-License-Identifier: Apache-2.0
"""GPUs as NVML tells them: index, compute capability, NVLinks with what is at their other end, chip-to-chip links.

NVML runs in a child process (nvml_child.py). NCCL's function: `ncclTopoGetXmlFromGpu`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.topo.busid import from_nvml
from railgauge.topo.sources.child import ask, python
from railgauge.topo.sources.reader import Facts

TIMEOUT_S = 20.0  # a healthy 8-GPU host without persistence mode takes several seconds
MAX_NVLINKS = ((60, 4), (70, 6), (80, 12), (90, 18))  # NCCL's counts, from that sm on


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU. sm is the compute capability (90 for 9.0); nvlinks counts usable links by target bus id, in link order.

    c2c is (links, MB/s each) towards the CPU, None without such links; gdr says GPUDirect RDMA, None when unknown.
    """

    bus_id: str
    index: int
    uuid: str | None
    sm: int
    nvlinks: tuple[tuple[str, int], ...]
    c2c: tuple[int, int] | None
    gdr: bool | None


def live_nvml(
    command: Sequence[str] = python("railgauge.topo.sources.nvml_child"), timeout_s: float = TIMEOUT_S
) -> dict[str, Any]:
    """NVML's raw answers: {"gpus": [...]}, or {"error": reason}."""
    return ask(command, "NVML", timeout_s)


def read_gpus(nvml: Facts | None, cuda: Facts | None) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
    """The GPUs by NVML's index, and what could not be learnt."""
    if nvml is None:
        return (), ()
    if "error" in nvml:
        return (), (str(nvml["error"]),)
    rdma = {from_nvml(key): value for key, value in ((cuda or {}).get("gpu_direct_rdma") or {}).items()}
    gpus, warnings = [], []
    for answer in nvml.get("gpus", ()):
        if answer.get("cc") is None or answer.get("pci") is None:
            warnings.append(f"NVML's GPU {answer.get('index')} is left out: {answer.get('error', 'incomplete answer')}")
            continue
        gpus.append(_gpu(answer, rdma))
    unknown = [gpu.index for gpu in gpus if gpu.gdr is None]
    if unknown:
        why = (cuda or {}).get("error") or f"CUDA does not tell of GPU {', '.join(map(str, sorted(unknown)))}"
        warnings.append(f"{why}: GPUDirect RDMA is taken as supported")
    return tuple(sorted(gpus, key=lambda gpu: gpu.index)), tuple(warnings)


def _gpu(answer: Facts, rdma: dict[str, Any]) -> Gpu:
    bus_id = from_nvml(str(answer["pci"]))
    sm = int(answer["cc"][0]) * 10 + int(answer["cc"][1])
    return Gpu(
        bus_id=bus_id,
        index=int(answer["index"]),
        uuid=answer.get("uuid"),
        sm=sm,
        nvlinks=count_links(answer.get("links") or (), sm),
        c2c=count_c2c(answer.get("c2c") or ()) if sm >= 90 else None,
        gdr=None if rdma.get(bus_id) is None else bool(rdma[bus_id]),
    )


def max_nvlinks(sm: int) -> int:
    """How many NVLinks NCCL asks a GPU of that compute capability for."""
    return max((count for least, count in MAX_NVLINKS if sm >= least), default=0)


def count_links(links: Sequence[Facts], sm: int) -> tuple[tuple[str, int], ...]:
    """Active links that carry P2P, by their target in NCCL's spelling, in order of first appearance."""
    counts: dict[str, int] = {}
    for link in links[: max_nvlinks(sm)]:
        if link.get("p2p") and link.get("state") and link.get("remote"):
            target = from_nvml(str(link["remote"]))
            counts[target] = counts.get(target, 0) + 1
    return tuple(counts.items())


def count_c2c(links: Sequence[Facts]) -> tuple[int, int] | None:
    """(links, MB/s of the last one) of the chip-to-chip links that are up; None without any."""
    up = [link for link in links if link.get("status") == 1 and link.get("max_bw") is not None]
    return (len(up), int(up[-1]["max_bw"])) if up else None
