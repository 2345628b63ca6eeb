# SPDX-License-Identifier: Apache-2.0
"""What GPUDirect RDMA needs of a host, and NCCL's gdr attribute of an IB port."""

import pytest

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.gdr import PEER_MEMORY, GdrFacts, driver_version, nic_gdr, read_gdr

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (root@x)\nGCC version: 12"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021"
GOOD = {"kernel": "6.8.0-45-generic", "driver": "570.86.15", "open_driver": True, "dma_buf": (("0000:18:00.0", True),)}


def write(root, path, text):
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("path", PEER_MEMORY)
def test_each_peer_memory_module_is_found(tmp_path, path):
    write(tmp_path, path, "1.3\n")
    facts = read_gdr(LiveReader(str(tmp_path)))
    assert facts.peer_memory == (path,)
    assert nic_gdr(facts, None)[0] is True


def test_host_facts_are_read(tmp_path):
    write(tmp_path, "/proc/driver/nvidia/version", OPEN)
    write(tmp_path, "/proc/sys/kernel/osrelease", "5.4.0-100-generic\n")
    cuda = {"dma_buf": {"0000:18:00.0": 1, "0000:2a:00.0": None}}
    facts = read_gdr(LiveReader(str(tmp_path), {"cuda": lambda: cuda}))
    assert (facts.driver, facts.open_driver, facts.dma_buf_kernel) == ("570.86.15", True, False)
    assert facts.dma_buf == (("0000:18:00.0", True), ("0000:2a:00.0", None))


def test_an_empty_host_knows_nothing(tmp_path):
    assert read_gdr(LiveReader(str(tmp_path))) == GdrFacts()
    assert nic_gdr(GdrFacts(), None)[0] is None


@pytest.mark.parametrize(("text", "want"), [(OPEN, "570.86.15"), (CLOSED, "470.57.02"), ("?", None), (None, None)])
def test_driver_versions(text, want):
    assert driver_version(text) == want


@pytest.mark.parametrize(
    ("kernel", "want"), [("5.12.0", True), ("5.11.22", False), ("6.1.0-28", True), ("x", None), (None, None)]
)
def test_kernels_that_know_dma_buf(kernel, want):
    assert GdrFacts(kernel=kernel).dma_buf_kernel is want


@pytest.mark.parametrize(
    ("changes", "nic", "want", "why"),
    [
        ({}, True, True, "DMA-BUF"),
        ({}, None, None, "libibverbs was not queried"),
        ({}, False, False, "does not support it"),
        ({"kernel": "5.4.0"}, None, False, "Linux 5.4.0 is older than 5.12"),
        ({"dma_buf": (("a", True), ("b", False))}, True, False, "every GPU"),
        ({"dma_buf": (("a", None),)}, True, None, "CUDA did not report"),
        ({"dma_buf": (), "open_driver": False}, True, False, "does not use the open kernel modules"),
        ({"dma_buf": (), "open_driver": True}, True, None, "CUDA did not report"),
        ({"dma_buf": (), "open_driver": True}, False, False, "does not support it"),
    ],
)
def test_dma_buf_needs_gpu_and_nic(changes, nic, want, why):
    answer, reason = nic_gdr(GdrFacts(**{**GOOD, **changes}), nic)
    assert answer is want
    assert why in reason


def test_dma_buf_can_be_switched_off():
    assert nic_gdr(GdrFacts(**GOOD), True, dma_buf_enabled=False) == (
        False,
        "no peer-memory module, and NCCL_DMABUF_ENABLE=0",
    )
