# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from railgauge.transports import peer
from railgauge.transports.peer import host_id, this_peer
from railgauge.transports.select import transport_name, why_not_shm

HERE = replace(this_peer(0), host="gpu-01", host_id="a/2", pid_namespace="1", shm_device=7, settings={})


def test_ranks_of_one_host_share_memory():
    assert why_not_shm(HERE, replace(HERE, rank=1)) is None


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ({"host": "gpu-02", "host_id": "b/2"}, "different hosts, gpu-01 and gpu-02"),
        ({"host_id": "a/3"}, "network namespaces"),
        ({"pid_namespace": "3"}, "different pid namespaces (two containers"),
        ({"host_id": "b/2"}, "NCCL_HOSTID"),
        ({"shm_device": 8}, "different /dev/shm"),
        ({"settings": {"NCCL_SHM_DISABLE": "1"}}, "NCCL_SHM_DISABLE is set for rank 1"),
    ],
)
def test_ranks_that_share_no_memory_are_told_why_from_both_ends(there, why):
    other = replace(HERE, rank=1, **there)
    assert why in why_not_shm(HERE, other)
    assert why_not_shm(other, HERE) is not None


def test_a_setting_of_zero_disables_nothing():
    assert why_not_shm(HERE, replace(HERE, rank=1, settings={"NCCL_SHM_DISABLE": "0"})) is None


def test_nccl_hostid_tells_hosts_apart(monkeypatch):
    monkeypatch.setenv("NCCL_HOSTID", "a")
    first = host_id()
    monkeypatch.setenv("NCCL_HOSTID", "b")
    assert first != host_id()


def test_containers_are_one_host_where_nccl_hostid_says_so(monkeypatch):
    monkeypatch.setattr(peer, "_namespace", lambda kind: "mine")
    alone, named = host_id({}), host_id({"NCCL_HOSTID": "a"})
    monkeypatch.setattr(peer, "_namespace", lambda kind: "another" if kind == "pid" else "mine")
    assert host_id({}) != alone
    assert host_id({"NCCL_HOSTID": "a"}) == named


def test_transports_have_the_names_of_nccls_log():
    assert transport_name(None) == "SHM"
    assert transport_name([2, 0]) == "NET/Socket/2"
