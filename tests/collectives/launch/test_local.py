# SPDX-License-Identifier: Apache-2.0
"""The local launcher's own answers; runs with it are tests/cli/run/."""

import pytest

from railgauge.collectives.launch import local
from railgauge.collectives.launch.hostfile import Host
from railgauge.collectives.launch.launch import Launch
from railgauge.collectives.launch.place import find_place
from railgauge.topo.errors import UsageError

LAUNCH = Launch(argv=["run", "all_reduce"], processes=3, variables=["NCCL_DEBUG=WARN"])


def test_each_rank_finds_its_place_in_its_command():
    for rank, command in enumerate(local.commands(LAUNCH)):
        assert command[0] == "env"
        env = dict(word.split("=", 1) for word in command[1:] if "=" in word)
        place = find_place(env | {"MASTER_PORT": "29500"})
        assert (place.process, place.processes) == (place.local_process, place.local_processes) == (rank, 3)
        assert env["NCCL_DEBUG"] == "WARN"
        assert command[-4:] == ["-m", "railgauge", "run", "all_reduce"]


def test_no_command_has_the_secret(monkeypatch):
    monkeypatch.setenv("RAILGAUGE_SECRET", "a s3cret of the test")
    assert not any("a s3cret of the test" in word for command in local.commands(LAUNCH) for word in command)


def test_hosts_are_refused():
    with pytest.raises(UsageError, match="this host only"):
        local.start(Launch(argv=["run", "all_reduce"], processes=2, hosts=[Host("gpu-01", 2)]))
