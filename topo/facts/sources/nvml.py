# SPDX-License-Identifier: Apache-2.0
"""GPUs as reported by NVML: identity, NVLinks with what is at their other end, chip-to-chip links, P2P, fabric, MIG.

NVML runs in a child process (nvml_child.py). If it does not answer, CUDA still lists the GPUs
(cuda.py), without their NVLinks. NCCL's function: `ncclTopoGetXmlFromGpu`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import Facts
from railgauge.topo.facts.sources.child import ask, python
from railgauge.topo.values.busid import from_nvml

TIMEOUT_S = 20.0  # a healthy 8-GPU host without persistence mode takes several seconds
MAX_NVLINKS = ((60, 4), (70, 6), (80, 12), (90, 18))  # NCCL's counts, from that sm on
REMOTE_KINDS = {0: "gpu", 1: "cpu", 2: "switch"}  # nvmlIntNvLinkDeviceType_t: GPU, IBMNPU, SWITCH


class NvLink(NamedTuple):
    """One NVLink of a GPU. `up` and `p2p` are None when unreadable; `remote_kind` is gpu, switch, cpu or None."""

    number: int
    up: bool | None
    p2p: bool | None
    version: int | None
    remote: str | None
    remote_kind: str | None

    @property
    def usable(self) -> bool:
        """Whether NCCL counts it."""
        return bool(self.up and self.p2p and self.remote)


class NvlinkFabric(NamedTuple):
    """How a GPU is registered with the NVLink fabric of several nodes (nvmlGpuFabricInfo_v2_t).

    state: 0 not supported, 1 not started, 2 in progress, 3 completed; status: an nvmlReturn_t, 0 is success; cluster:
    the UUID's 16 bytes in hex, all zero without a fabric; health: its mask.
    """

    state: int | None
    status: int | None
    clique: int | None
    cluster: str | None
    health: int | None = None

    @property
    def ills(self) -> tuple[str, ...]:
        """What its health mask says is wrong."""
        return fabric_ills(self.health or 0)


FABRIC_HEALTH = ("bandwidth is degraded", "a route is recovering", "a route is unhealthy", "access times out")
"""Two bits each, of which 1 says yes (nvmlGpuFabricInfo_v2_t)."""


def fabric_ills(mask: int) -> tuple[str, ...]:
    """What the health mask of a GPU's fabric says is wrong."""
    return tuple(text for bit, text in enumerate(FABRIC_HEALTH) if mask >> 2 * bit & 3 == 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlGpu:
    """One GPU. sm is the compute capability (90 for 9.0); nvlinks counts usable links by target bus id, in link order.

    c2c is (links, MB/s each) towards the CPU, None without such links. gdr (GPUDirect RDMA), dma_buf and mig are None
    when unknown, vbios where it was not asked for too. numa is the node of the GPU's own memory. p2p holds, by the
    other GPU's index, NVML's statuses of reading and writing (0 is OK). `links` is empty when NVML did not answer.
    """

    bus_id: str
    index: int
    uuid: str | None
    sm: int
    nvlinks: tuple[tuple[str, int], ...]
    c2c: tuple[int, int] | None
    gdr: bool | None
    name: str | None = None
    links: tuple[NvLink, ...] = ()
    dma_buf: bool | None = None
    numa: int | None = None
    mig: bool | None = None
    fabric: NvlinkFabric | None = None
    p2p: tuple[tuple[int, int | None, int | None], ...] = ()
    vbios: str | None = None


def live_nvml(
    command: Sequence[str] = python("railgauge.topo.facts.sources.nvml_child"), timeout_s: float = TIMEOUT_S
) -> dict[str, Any]:
    """NVML's raw answers: {"driver": ..., "gpus": [...]}, or {"error": reason}."""
    return ask(command, "NVML", timeout_s)


def read_gpus(nvml: Facts | None, cuda: Facts | None) -> tuple[tuple[NvmlGpu, ...], tuple[str, ...]]:
    """The GPUs by NVML's index, and warnings about what could not be read."""
    if nvml is None:
        return (), ()
    cuda = cuda or {}
    answers, warnings = list(nvml.get("gpus", ())), list[str]()
    if "error" in nvml:
        warnings.append(str(nvml["error"]))
        answers = [{"index": index, **gpu} for index, gpu in enumerate(cuda.get("gpus", ()))]
        warnings += ["GPUs are listed without NVML, so their NVLinks are unknown"] if answers else []
    gpus = []
    for answer in answers:
        if answer.get("cc") is None or answer.get("pci") is None:
            warnings.append(f"NVML's GPU {answer.get('index')} is left out: {answer.get('error', 'incomplete answer')}")
            continue
        gpus.append(_gpu(answer, cuda))
    unknown = [gpu.index for gpu in gpus if gpu.gdr is None]
    if unknown:
        why = cuda.get("error") or f"CUDA does not report GPU {', '.join(map(str, sorted(unknown)))}"
        warnings.append(f"{why}: GPUDirect RDMA is assumed to be supported")
    return tuple(sorted(gpus, key=lambda gpu: gpu.index)), tuple(warnings)


def cuda_version(number: int | None) -> str | None:
    """NVML's number of a CUDA release in words: 12040 is 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def no_nvml(nvml: Facts | None) -> str | None:
    """Why NVML has no answer: its error, or that it was not queried; None if it answered."""
    return "NVML was not queried" if nvml is None else nvml.get("error")


def _gpu(answer: Facts, cuda: Facts) -> NvmlGpu:
    bus_id = from_nvml(str(answer["pci"]))
    sm = int(answer["cc"][0]) * 10 + int(answer["cc"][1])
    links = read_links(answer.get("links") or ())
    return NvmlGpu(
        bus_id=bus_id,
        index=int(answer["index"]),
        uuid=answer.get("uuid"),
        name=answer.get("name"),
        vbios=answer.get("vbios"),
        sm=sm,
        nvlinks=count_links(links, sm),
        links=links,
        c2c=count_c2c(answer.get("c2c") or ()) if sm >= 90 else None,
        gdr=_of_gpu(cuda.get("gpu_direct_rdma"), bus_id),
        dma_buf=_of_gpu(cuda.get("dma_buf"), bus_id),
        numa=answer.get("numa"),
        mig=_flag(answer.get("mig")),
        fabric=_fabric(answer.get("fabric")),
        p2p=tuple((i, *pair) for i, pair in enumerate(answer.get("p2p") or ()) if pair is not None),
    )


def _of_gpu(answers: Facts | None, bus_id: str) -> bool | None:
    """What CUDA answered for one GPU; its bus ids are spelled as NVML's."""
    return _flag({from_nvml(key): value for key, value in (answers or {}).items()}.get(bus_id))


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def read_links(answers: Sequence[Facts]) -> tuple[NvLink, ...]:
    """The NVLinks of one GPU out of NVML's raw answers, by link number."""
    return tuple(_link(number, link) for number, link in enumerate(answers))


def _link(number: int, link: Facts) -> NvLink:
    remote = link.get("remote")
    return NvLink(
        number=number,
        up=_flag(link.get("state")),
        p2p=_flag(link.get("p2p")),
        version=link.get("version"),
        remote=from_nvml(str(remote)) if remote else None,
        remote_kind=REMOTE_KINDS.get(link.get("type", -1)),
    )


def _fabric(answer: Facts | None) -> NvlinkFabric | None:
    if not answer:
        return None
    return NvlinkFabric(
        state=answer.get("state"),
        status=answer.get("status"),
        clique=answer.get("clique"),
        cluster=answer.get("cluster"),
        health=answer.get("health"),
    )


def max_nvlinks(sm: int) -> int:
    """How many NVLinks NCCL asks a GPU of that compute capability for."""
    return max((count for least, count in MAX_NVLINKS if sm >= least), default=0)


def count_links(links: Sequence[NvLink], sm: int) -> tuple[tuple[str, int], ...]:
    """Active links that carry P2P, by their target in NCCL's spelling, in order of first appearance."""
    counts: dict[str, int] = {}
    for link in links[: max_nvlinks(sm)]:
        if link.usable and link.remote:
            counts[link.remote] = counts.get(link.remote, 0) + 1
    return tuple(counts.items())


def count_c2c(links: Sequence[Facts]) -> tuple[int, int] | None:
    """(links, MB/s of the last one) of the chip-to-chip links that are up; None without any."""
    up = [link for link in links if link.get("status") == 1 and link.get("max_bw") is not None]
    return (len(up), int(up[-1]["max_bw"])) if up else None
