# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from railgauge.topo.errors import UnavailableError
from railgauge.transports.peer import host_id, this_peer
from railgauge.transports.select import choose_transport


def test_ranks_of_one_host_share_memory():
    here = this_peer(0, "doorbell")
    assert choose_transport(here, replace(here, rank=1)) == "SHM"


def test_ranks_of_two_hosts_are_told_why_not():
    here = this_peer(0, "doorbell")
    there = replace(here, rank=1, host="other", host_id="other")
    with pytest.raises(UnavailableError, match=f"rank 0 on {here.host} and rank 1 on other share no memory"):
        choose_transport(here, there)


def test_nccl_hostid_tells_hosts_apart(monkeypatch):
    monkeypatch.setenv("NCCL_HOSTID", "a")
    first = host_id()
    monkeypatch.setenv("NCCL_HOSTID", "b")
    assert first != host_id()
