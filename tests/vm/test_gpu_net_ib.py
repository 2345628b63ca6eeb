# SPDX-License-Identifier: Apache-2.0
"""Made-up GPUs of two guests over NET/IB on Soft-RoCE: which NIC carries what, and that data is right."""

import json
import sys

import pytest
from tests.gpu import fake_gpus
from tests.vm.answers import Answers
from tests.vm.boards import ROOMY
from tests.vm.lab import guest

from railgauge.collectives.operation import NUMBERS

pytestmark = pytest.mark.vm
TIMEOUT_S = 300  # about 60 s where two cores are free
FAILED = 4
NICS = ("rxe0", "rxe1")
"""Of the GPUs, each below one switch with it."""
PAIRS = [(here, there) for here in range(4) for there in range(4) if here // 2 != there // 2]
"""Ranks on different guests, two on each."""


@pytest.fixture(scope="module")
def guests(booted_kernel, tmp_path_factory):
    folders = [tmp_path_factory.mktemp("gpus") for _ in range(2)]
    job = 'PYTHONPATH=. exec "$PYTHON" -P tests/vm/in_guest/gpu_net_ib.py'
    booted = []
    for io in folders:
        gpus = fake_gpus.environment(io, len(NICS), nics=NICS)
        environment = gpus | {"PYTHON": sys.executable, "NCCL_TOPO_FILE": "/run/io/2-gpus.xml"}
        booted.append(guest.Guest(board=ROOMY, job=job, io=io, environment=environment))
    guest.boot(booted_kernel, booted, TIMEOUT_S)
    return [Answers(board=ROOMY, folder=io) for io in folders]


def right(guests, name):
    """The document of a run whose data was right on all ranks."""
    document = json.loads(guests[0].out(name))
    assert guests[1].status(name) == 0, guests[1].err(name)
    wrong = {row[way]["wrong"] for row in document["rows"] for way in ("out_of_place", "in_place")}
    assert wrong - {None} == {0}  # of what does not run in place it is None
    return document


def vias(document):
    return {(c["from"], c["to"]): c["via"] for c in document["connections"] if c["bytes_sent"]}


@pytest.mark.parametrize(("name", "gdr"), [("rings", "/GDRDMA"), ("host", "")])
def test_rings_go_by_the_nics_of_their_gpus(guests, name, gdr):
    """From GPU memory to GPU memory, or through that of the hosts."""
    found = vias(right(guests, name))
    between = {pair: found[pair] for pair in PAIRS}
    assert between == {pair: f"NET/IB/{pair[0] % 2}{gdr}" for pair in PAIRS}
    for answers in guests:
        assert "Using network IB" in answers.err(name)


def test_a_pair_goes_by_the_nic_of_the_senders_gpu(guests):
    document = right(guests, "pairs")
    found = vias(document)
    assert {pair: found[pair] for pair in PAIRS} == {pair: f"NET/IB/{pair[0] % 2}" for pair in PAIRS}


def test_a_nic_may_write_into_a_gpu_and_not_read_it(guests):
    """NCCL_NET_GDR_READ=0; what is received is flushed first."""
    right(guests, "pairs")
    assert "Channel 00/0 : 1[1] -> 3[1] [send] via NET/IB/1\n" in guests[0].err("pairs")
    assert "Channel 00/0 : 1[1] -> 3[1] [receive] via NET/IB/1/GDRDMA\n" in guests[1].err("pairs")
    assert "Channel 00/0 : 0[0] -> 3[1] [receive] via NET/IB/0\n" in guests[1].err("pairs")  # too far


def test_every_collective_is_right(guests):
    for answers in guests:
        document = json.loads(answers.out("collectives"))
        assert document == {"wrong": dict.fromkeys(NUMBERS, 0), "vias": ["NET/IB/0/GDRDMA"]}


def test_without_ib_they_go_over_sockets(guests):
    document = right(guests, "sockets")
    assert {vias(document)[pair] for pair in PAIRS if pair in vias(document)} == {"NET/Socket/0"}
    assert "NCCL_IB_DISABLE" in document["why_not_ib"]


def test_the_list_has_it(guests):
    document = json.loads(guests[0].out("list"))
    found = {
        one["collective"]: one["why_not"]
        for one in document["collectives"]
        if (one["device"], one["transport"]) == ("cuda", "NET/IB")
    }
    assert found == dict.fromkeys(NUMBERS)


def test_a_link_that_goes_down_ends_the_run_and_is_named(guests):
    assert guests[0].status("link_down") == FAILED
    said = guests[0].err("link_down") + guests[1].err("link_down")
    assert "rxe0" in said.partition("Init COMPLETE")[2]
