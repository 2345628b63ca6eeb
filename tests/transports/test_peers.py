# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json
import os

import pytest
from tests.transports.ranks import on_ranks

from railgauge.topo.errors import MismatchError, UsageError
from railgauge.transports.peer import Peer, host_id, this_peer
from railgauge.transports.peers import check, exchange, warnings
from railgauge.transports.typed import jsonable

OWN = this_peer(0, environ={})


def peers(*changes):
    return [dataclasses.replace(OWN, rank=rank, host=f"gpu-{rank}", **change) for rank, change in enumerate(changes)]


def test_a_peer_survives_the_exchange():
    own = this_peer(3, bus_id="0000:1b:00.0", device=1, gdr=True, environ={"NCCL_ALGO": "Ring"})
    assert Peer.received(json.loads(json.dumps(own, default=jsonable))) == own
    assert own.settings == {"NCCL_ALGO": "Ring"}
    assert own.shm_device == os.stat("/dev/shm").st_dev


@pytest.mark.parametrize(
    "change", [{"rank": "0"}, {"more": 1}, {"cpus": ["0"]}, {"bus_id": 7}, {"settings": {"A": 1}}, {"flags": {"A": 1}}]
)
def test_another_form_is_none(change):
    with pytest.raises(ValueError, match=r".+"):
        Peer.received(jsonable(OWN) | change)


def test_what_a_rank_tells_of_itself_steers_no_terminal():
    assert Peer.received(jsonable(OWN) | {"host": "gpu\x1b[2J", "flags": {"-o\x1b": "x"}}).flags == {"-o\ufffd": "x"}


def test_all_ranks_know_all():
    got = on_ranks(3, lambda b: exchange(b, this_peer(b.rank, device=10 * b.rank)))
    assert [[(peer.rank, peer.device) for peer in each] for each in got] == [[(0, 0), (1, 10), (2, 20)]] * 3


def test_nccl_hostid_makes_hosts():
    assert host_id({"NCCL_HOSTID": "a"}) != host_id({"NCCL_HOSTID": "b"})
    assert host_id({"NCCL_HOSTID": "a"}) == host_id({"NCCL_HOSTID": "a"})
    assert host_id({}) == OWN.host_id


def test_two_ranks_on_one_gpu_are_named():
    gpu = {"bus_id": "0000:1b:00.0"}
    with pytest.raises(UsageError, match="Duplicate GPU detected: rank 2 and rank 0 both on bus 1b000 of host gpu-2"):
        check(peers(gpu, {"bus_id": "0000:1c:00.0"}, gpu))
    check(peers(gpu, gpu | {"host_hash": "0x1"}))  # one each on two hosts


def test_gpus_and_host_memory_in_one_run_are_named():
    with pytest.raises(MismatchError, match="rank 1 on gpu-1 uses host memory, rank 0 does not: use --device cpu"):
        check(peers({"bus_id": "0000:1b:00.0"}, {}))


def test_another_version_is_named():
    with pytest.raises(MismatchError, match=r"rank 1 on gpu-1 runs railgauge 9, rank 0 on gpu-0 runs railgauge "):
        check(peers({}, {"version": "9"}))


@pytest.mark.parametrize(
    "name", ["NCCL_ALGO", "NCCL_PROTO", "NCCL_BUFFSIZE", "NCCL_MAX_NCHANNELS", "NCCL_P2P_LEVEL", "NCCL_MNNVL_ENABLE"]
)
def test_a_setting_with_which_nccl_hangs_is_named_with_both_values(name):
    ring, tree = {"settings": {name: "1"}}, {"settings": {name: "2"}}
    check(peers(ring, ring))
    with pytest.raises(MismatchError, match=f"{name} differs: rank 0 on gpu-0 has '1', rank 2 on gpu-2 has '2'"):
        check(peers(ring, ring, tree))
    with pytest.raises(MismatchError, match="rank 1 on gpu-1 has none"):
        check(peers(ring, {}))


def test_flags_that_differ_are_named_with_both_values_and_ranks():
    check(peers({"flags": {"-o": "sum"}}, {"flags": {"-o": "sum"}}))
    asked = {"-b": "8", "-o": "sum"}
    with pytest.raises(MismatchError, match=r"-o differs: rank 0 on gpu-0 has 'sum', rank 1 on gpu-1 has 'max': ranks"):
        check(peers({"flags": asked}, {"flags": asked | {"-o": "max"}}))
    with pytest.raises(MismatchError, match=r"-b differs: rank 0 on gpu-0 has none, rank 1 on gpu-1 has '8'"):
        check(peers({}, {"flags": asked}))  # a program of one's own, and railgauge run


def test_what_concerns_one_host_may_differ_between_hosts():
    check(peers({"settings": {"NCCL_P2P_LEVEL": "SYS"}}, {"host_id": "other"}))


def test_what_is_better_alike_is_a_warning():
    (line,) = warnings(peers({"settings": {"NCCL_IB_TC": "106"}}, {}))
    assert line.startswith("NCCL_IB_TC differs: rank 0 on gpu-0 has '106', rank 1 on gpu-1 has none")
    assert warnings(peers({}, {})) == []
