# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from tests.cli.command import in_process, railgauge

from railgauge.collectives.operation import NUMBERS


def listed(**env):
    result = in_process("run", "--list", "--json", **env)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def why_not(document):
    return {(one["collective"], one["device"], one["transport"]): one["why_not"] for one in document["collectives"]}


def test_the_list_is_for_people_too():
    result = in_process("run", "--list", NCCL_SOCKET_IFNAME="lo")
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["all_reduce", "yes", "yes", "no", "no", "no", "no", "no"] in lines
    assert ["bfloat16", "2", *["yes"] * 5] in lines
    assert "NET/Socket: NET/Socket/0 over lo:127.0.0.1<0>" in result.stdout
    assert "\ncuda: " in result.stdout


def test_it_is_true_of_these_settings():
    here, off = listed(NCCL_SOCKET_IFNAME="lo"), listed(NCCL_SHM_DISABLE="1", NCCL_SOCKET_IFNAME="lo")
    assert why_not(here)["all_reduce", "cpu", "SHM"] is None
    assert "NCCL_SHM_DISABLE" in why_not(off)["all_reduce", "cpu", "SHM"]
    assert why_not(off)["all_reduce", "cpu", "NET/Socket"] is None


def test_what_works_over_a_transport_runs_over_it():
    works = {one["collective"] for one in listed()["collectives"] if one["transport"] == "NET/Socket" and one["works"]}
    assert works == {*NUMBERS}
    for collective in sorted(works):
        flags = ("-b", "96", "-e", "96", "-n", "1", "--ranks", "2", "--expect-transport", "NET/Socket")
        result = railgauge("run", collective, *flags, NCCL_SHM_DISABLE="1", NCCL_SOCKET_IFNAME="lo")
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("others", [("foo",), ("-d", "bogus"), ("all_reduce", "--tune")])
def test_the_list_has_no_use_for_what_is_run(others):
    result = in_process("run", "--list", *others)
    assert result.returncode == 2
    assert f"--list runs nothing: leave {' '.join(others)}" in result.stderr


def test_a_machine_without_interfaces_is_still_listed():
    document = listed(NCCL_SOCKET_IFNAME="nothing7")
    assert "matches no interface" in why_not(document)["broadcast", "cpu", "NET/Socket"]
