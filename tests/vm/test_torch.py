# SPDX-License-Identifier: Apache-2.0
"""PyTorch trains on two guests over NET/IB on Soft-RoCE, and every result is compared between them."""

import re
import sys

import pytest
from tests.collectives.torch.test_torch import PACKAGES
from tests.collectives.torch.test_torch import pytestmark as with_torch
from tests.vm.boards import ROOMY
from tests.vm.lab import guest

pytestmark = [pytest.mark.vm, with_torch]
RANKS = 2
TIMEOUT_S = 900  # about 80 s where two cores are free
ENVIRONMENT = {
    "PYTHON": sys.executable,
    "PYTHONPATH": f"{PACKAGES}:.",
    "OMP_NUM_THREADS": "1",
    "WORLD_SIZE": str(RANKS),
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "10.77.0.1",
    "MASTER_PORT": "29500",
    "NCCL_SOCKET_IFNAME": "rail0",
    "NCCL_IB_HCA": "=rxe1",
    "NCCL_IB_TIMEOUT": "18",
    "NCCL_BUFFSIZE": "131072",
    "NCCL_DEBUG": "INFO",
    "RAILGAUGE_VERIFY": "every:1",
}


@pytest.fixture(scope="module")
def said(booted_kernel, tmp_path_factory):
    """What the example's rank printed on each guest."""
    folders = [tmp_path_factory.mktemp("torch") for _ in range(RANKS)]
    job = '"$PYTHON" examples/ddp.py > /run/io/out 2> /run/io/err'
    guests = [guest.Guest(board=ROOMY, job=job, io=io, environment=ENVIRONMENT) for io in folders]
    guest.boot(booted_kernel, guests, TIMEOUT_S)
    return [(io / "out").read_text() + (io / "err").read_text() for io in folders]


def test_an_example_trains_over_rdma(said):
    first, last = (float(loss) for loss in re.findall(r"loss ([\d.]+) on 2 ranks, cpu", said[0]))
    assert last < first / 2


def test_all_goes_by_the_nic_that_is_set(said):
    for one in said:
        assert {*re.findall(r" via (\S+)", one)} == {"NET/IB/0"}
        assert "NET/IB : Using [0]rxe1" in one
