# SPDX-License-Identifier: Apache-2.0
"""`gdr check` moves bytes between a fake GPU, whose memory is the host's, and Soft-RoCE: PASS only where they are
right. What it proves here is the trial, not GPUDirect RDMA.
"""

import json
import sys

import pytest
from tests.gpu import fake_gpus
from tests.vm.answers import Answers
from tests.vm.boards import GPU, gpus, small
from tests.vm.lab import guest

pytestmark = pytest.mark.vm
TIMEOUT_S = 240  # about 50 s where two cores are free
BOARD = small(GPU)
FOUND = 1


@pytest.fixture(scope="module")
def node(booted_kernel, tmp_path_factory):
    io = tmp_path_factory.mktemp("gdr")
    environment = {
        "PYTHON": sys.executable,
        "LD_LIBRARY_PATH": str(fake_gpus.libraries()),
        "NVML_GPUS": " ".join(gpus(BOARD)),
        "NVML_SWITCH": fake_gpus.SWITCH,
    }
    job = 'PYTHONPATH=. exec "$PYTHON" -P tests/vm/in_guest/gdr.py'
    guest.boot(booted_kernel, [guest.Guest(board=BOARD, job=job, io=io, environment=environment)], TIMEOUT_S)
    return Answers(board=BOARD, folder=io)


def found(node, name, id):
    (finding,) = [one for one in document(node, name)["findings"] if one["id"] == id]
    return finding


def document(node, name):
    return json.loads((node.folder / f"{name}.out").read_text())


def test_bytes_that_are_right_pass(node):
    assert node.status("right") == 0, node.err("right")
    decision = found(node, "right", "gpu-direct-rdma")
    assert (decision["level"], decision["evidence"]["transfer_tried"]) == ("PASS", True)
    transfer = found(node, "right", "gdr-transfer")
    assert (transfer["level"], transfer["evidence"]["how"]) == ("PASS", "peer memory")


def test_soft_roce_takes_no_dma_buf_and_says_so(node):
    dma_buf, peer_memory = found(node, "right", "gdr-transfer")["evidence"]["registration"]
    assert dma_buf["how"] == "DMA-BUF"
    assert dma_buf["error"].endswith("bytes of memory as a DMA-BUF: Operation not supported")
    assert peer_memory == {"how": "peer memory", "error": None}


def test_a_wrong_byte_fails_and_is_counted(node):
    assert node.status("corrupt") == FOUND
    transfer = found(node, "corrupt", "gdr-transfer")
    assert transfer["level"] == "FAIL"
    assert transfer["evidence"]["failed"] == "into the GPU: 1 of 1048576 bytes are wrong, the first at 524288"
    assert "acs-enabled" in transfer["remedy"]


def test_what_could_not_be_tried_is_unknown(node):
    transfer = found(node, "without_memory", "gdr-transfer")
    assert transfer["level"] == "UNKNOWN"
    assert "CUDA_ERROR_OUT_OF_MEMORY" in transfer["message"]
