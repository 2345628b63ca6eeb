# SPDX-License-Identifier: Apache-2.0
"""NVLink between hosts on simulated GPUs: where it is used, and why not elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.gpu.fake_gpus import DOMAIN
from tests.gpu.test_driver_memory import RIGHT, registering
from tests.gpu.test_run import by_hand, is_right
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
NVLINK, NETWORK = "P2P/MNNVL", "NET/Socket/0"
NOT_PERMITTED = "CUDA_ERROR_NOT_PERMITTED: fake error"


@pytest.fixture(scope="module")
def said(fake_gpus):
    """By case what each rank of tests/gpu/between_hosts.py says."""
    env = clean_environment(**fake_gpus(3), NVML_FABRIC=DOMAIN)
    result = subprocess.run(
        (sys.executable, "-m", "tests.gpu.between_hosts"),
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("case", ["joined", "required"])
def test_gpus_of_one_domain_map_each_others_memory(said, case):
    """So do the parts of a communicator, whose ranks are in another order."""
    first, second, third = said[case]
    assert first["via"] == second["via"] == ["P2P/direct pointer", NVLINK]
    assert third["via"] == [NVLINK, NVLINK]
    assert [one["why"] for one in said[case]] == 3 * [["", "", ""]]
    assert third["part"] == [[1, NVLINK], [2, NVLINK]]
    assert all(one["right"] and one["part right"] for one in said[case])


def test_nvlink_and_the_network_beside_each_other(said):
    assert [one["via"] for one in said["one host of three without"]] == [[NVLINK, NETWORK]] * 2 + [[NETWORK] * 2]
    assert all(one["right"] and one["part right"] for one in said["one host of three without"])


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("none", ""),
        ("one without", "the GPU of rank 2 is in no NVLink domain of several hosts"),
        ("cliques", f"rank 0 is in NVLink domain {DOMAIN}, rank 2 is in NVLink domain {DOMAIN[:-1]}8"),
        ("off", "NCCL_MNNVL_ENABLE=0"),
        ("no P2P", "rank 0: NCCL_P2P_LEVEL=LOC"),
        ("CUDA IPC", "rank 2: NCCL_CUMEM_ENABLE=0"),
        ("not created", "rank 2: taking memory for NVLink between hosts (an IMEX channel"),
        ("not exported", "rank 2: exporting memory of a GPU for NVLink between hosts (an IMEX channel"),
        ("not imported", "rank 2: importing memory for NVLink between hosts (an IMEX channel"),
    ],
)
def test_others_use_the_network_and_the_reason_is_known(said, case, words):
    first, _, third = said[case]
    assert third["via"] == [NETWORK, NETWORK]
    assert first["via"][1] == NETWORK
    assert (first["why"][:2], first["why"][2].startswith(words)) == (["", ""], True), first["why"]
    assert bool(first["why"][2]) == bool(words)
    assert case[:4] != "not " or first["why"][2].endswith(NOT_PERMITTED)
    assert all(one["right"] and one["part right"] for one in said[case])


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("none but required", "the GPU of rank 0 is in no NVLink domain of several hosts"),
        ("cliques but required", f"rank 0 is in NVLink domain {DOMAIN}, "),
    ],
)
def test_where_it_is_required_all_ranks_say_why_it_is_not_possible(said, case, why):
    for one in said[case]:
        assert one["error"].startswith(f"UnavailableError: NCCL_MNNVL_ENABLE=1: no NVLink between ranks 0 and 2: {why}")


def test_memory_of_other_kinds_between_hosts(fake_gpus):
    """Arrays over several pieces with fabric handles, and what `allocate` makes, are mapped; others are refused."""
    cases = ("via", "spans", "symmetric", "pool_refused", "refused", "unimported")
    told = registering(fake_gpus, *cases, "--hosts", "2", ranks=3, NVML_FABRIC=DOMAIN)
    assert [one["via"] for one in told] == [["P2P/IPC", NVLINK], ["P2P/IPC", NVLINK], [NVLINK, NVLINK]]
    for rank, one in enumerate(told):
        assert one["spans"] == 2 * [RIGHT | {"reached_by": [rank]}]
        assert one["symmetric"] == {"right": True, "left": [0, 0]}
        for case in ("pool_refused", "refused"):
            assert "registering memory on this GPU: GPUs of other hosts (P2P/MNNVL) cannot map" in one[case]["error"]
            assert one[case]["left"] == [0, 0]
        assert "rank 1: mapping memory of the GPU of rank " in one["unimported"]["error"]
        assert one["unimported"]["after"] == RIGHT | {"reached_by": [rank]}


@pytest.mark.parametrize("clique", [7, 8])
def test_nvml_says_which_gpus_are_in_one_domain(fake_gpus, tmp_path, clique):
    log = tmp_path / "log"
    settings = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(log), "NCCL_SOCKET_IFNAME": "lo"}
    domains = [DOMAIN, DOMAIN[:-1] + str(clique)]
    got = by_hand(2, NCCL_HOSTID="ab".__getitem__, NVML_FABRIC=domains.__getitem__, **settings, **fake_gpus(2))
    assert is_right(got)
    assert (got["nodes"], {one["via"] for one in got["connections"]}) == (2, {NVLINK if clique == 7 else NETWORK})
    text = log.read_text()
    assert "MNNVL busId 0x10000 fabric UUID 100000000.100000000 cliqueId 0x7 state 3 healthMask 0x0" in text
    assert ("0 -> 1 not via P2P/MNNVL: rank 0 is in NVLink domain" in text) == (clique == 8)
