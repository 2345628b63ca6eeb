# SPDX-License-Identifier: Apache-2.0
"""Four guests on one rail, a rank in each: every collective over NET/IB, checked."""

import json
import sys

import pytest
from tests.vm.boards import ONE_RAIL
from tests.vm.lab import guest

from railgauge.collectives.operation import NUMBERS

pytestmark = pytest.mark.vm
GUESTS = 4
TIMEOUT_S = 300  # about 50 s where two cores are free
ENVIRONMENT = {
    "PYTHON": sys.executable,
    "WORLD_SIZE": str(GUESTS),
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "10.77.0.1",
    "MASTER_PORT": "29500",
    "NCCL_SOCKET_IFNAME": "rail0",
    "NCCL_IB_TIMEOUT": "18",
    "NCCL_BUFFSIZE": "131072",
}


@pytest.fixture(scope="module")
def documents(booted_kernel, tmp_path_factory):
    """What each rank's guest answered."""
    folders = [tmp_path_factory.mktemp("four") for _ in range(GUESTS)]
    job = '"$PYTHON" -m tests.vm.in_guest.every_collective > /run/io/document'
    guests = [guest.Guest(board=ONE_RAIL, job=job, io=io, environment=ENVIRONMENT) for io in folders]
    guest.boot(booted_kernel, guests, TIMEOUT_S)
    return [json.loads((io / "document").read_text()) for io in folders]


def test_every_collective_is_right_on_four_ranks(documents):
    assert [document["wrong"] for document in documents] == [dict.fromkeys(NUMBERS, 0)] * GUESTS


def test_all_goes_over_rdma(documents):
    for document in documents:
        assert document["vias"] == ["NET/IB/0"]
        assert len(document["attributes"]) >= 2
