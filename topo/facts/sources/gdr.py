# SPDX-License-Identifier: Apache-2.0
"""What GPUDirect RDMA needs of a host: a peer-memory module, or DMA-BUF in kernel, driver, GPU and NIC.

NCCL's functions: `ncclIbGdrSupport`, `ncclIbDmaBufSupport` (transport/net_ib/gdr.cc), `dmaBufSupported` (init.cc) and
the gdr attribute of `ncclTopoPopulateNics`.
"""

import re
from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.host_facts import KERNEL
from railgauge.topo.values.busid import from_nvml

PEER_MEMORY = (
    "/sys/kernel/mm/memory_peers/nv_mem/version",
    "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
    "/sys/module/nvidia_peermem/version",
)
DRIVER = "/proc/driver/nvidia/version"
DMA_BUF_KERNEL = (5, 12)  # the first with the verbs call that registers a DMA-BUF


class GdrFacts(NamedTuple):
    """The host's part. Each reading is None when it is absent or unreadable.

    peer_memory: those of NCCL's three paths that are there; kernel and driver by version; open_driver: NVIDIA's open
    kernel modules, which DMA-BUF needs; dma_buf: by the GPU's bus id, whether CUDA can export its memory as DMA-BUF;
    gpus_without: the bus ids of GPUs that CUDA says cannot do GPUDirect RDMA.
    """

    peer_memory: tuple[str, ...] = ()
    kernel: str | None = None
    driver: str | None = None
    open_driver: bool | None = None
    dma_buf: tuple[tuple[str, bool | None], ...] = ()
    gpus_without: tuple[str, ...] = ()

    @property
    def dma_buf_kernel(self) -> bool | None:
        """Whether the kernel is new enough for DMA-BUF."""
        found = re.match(r"(\d{1,9})\.(\d{1,9})", self.kernel or "")
        return (int(found[1]), int(found[2])) >= DMA_BUF_KERNEL if found else None

    @property
    def dma_buf_gpus(self) -> bool | None:
        """Whether every GPU can export DMA-BUF: False if one cannot, None if one is unknown."""
        answers = {answer for _, answer in self.dma_buf}
        return False if False in answers else None if None in answers or not answers else True


def read_gdr(reader: Reader) -> GdrFacts:
    """The host's part of GPUDirect RDMA."""
    version = reader.text(DRIVER)
    cuda = reader.facts("cuda") or {}
    answers, direct = cuda.get("dma_buf") or {}, cuda.get("gpu_direct_rdma") or {}
    return GdrFacts(
        peer_memory=tuple(path for path in PEER_MEMORY if reader.realpath(path) is not None),
        kernel=reader.text(KERNEL),
        driver=driver_version(version),
        open_driver=None if version is None else "Open Kernel Module" in version,
        dma_buf=tuple((from_nvml(key), None if value is None else bool(value)) for key, value in answers.items()),
        gpus_without=tuple(from_nvml(key) for key, value in direct.items() if value == 0),
    )


def driver_version(text: str | None) -> str | None:
    """The version in /proc/driver/nvidia/version: 550.54.15 in "NVRM version: ... Module  550.54.15  Release ..."."""
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", text or "")
    return found[1] if found else None


def nic_gdr(gdr: GdrFacts, nic_dma_buf: bool | None, *, dma_buf_enabled: bool = True) -> tuple[bool | None, str]:
    """Whether NCCL gives an IB port gdr="1", and why; None if unknown.

    `nic_dma_buf`: whether the port's device registers DMA-BUF (verbs.py), None when it was not asked;
    `dma_buf_enabled`: NCCL_DMABUF_ENABLE.
    """
    if gdr.peer_memory:
        return True, f"peer memory: {gdr.peer_memory[0]}"
    if not dma_buf_enabled:
        return False, "no peer-memory module, and NCCL_DMABUF_ENABLE=0"
    answers = (_gpu_dma_buf(gdr), _nic_dma_buf(gdr, nic_dma_buf))
    for answer in (False, None):
        whys = [why for works, why in answers if works is answer]
        if whys:
            return answer, f"no peer-memory module, {'no' if answer is False else 'unknown'} DMA-BUF: {'; '.join(whys)}"
    return True, "DMA-BUF"


def _gpu_dma_buf(gdr: GdrFacts) -> tuple[bool | None, str]:
    if gdr.dma_buf_gpus is not None:
        return gdr.dma_buf_gpus, "CUDA cannot export the memory of every GPU"
    if gdr.open_driver is False:
        return False, "the NVIDIA driver does not use the open kernel modules"
    return None, "CUDA did not report whether GPUs can export their memory"


def _nic_dma_buf(gdr: GdrFacts, nic_dma_buf: bool | None) -> tuple[bool | None, str]:
    if nic_dma_buf is not None:
        return nic_dma_buf, "the NIC's driver does not support it"
    if gdr.dma_buf_kernel is False:
        return False, f"Linux {gdr.kernel} is older than 5.12"
    return None, "libibverbs was not queried for the NIC"
