# SPDX-License-Identifier: Apache-2.0
"""`run` on fake GPUs: ranks as threads, as processes, and under launchers; what it verifies and what it tells."""

import json
import re
import subprocess

import pytest
from tests.cli.command import clean_environment, command, railgauge
from tests.cli.run.test_run import free_port
from tests.collectives.launch.peers import launch, peer
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.operation import NUMBERS

SMALL = ("--device", "cuda", "-b", "4", "-e", "64K", "-f", "128", "-n", "2")


def run(*args, status=0, collective="all_reduce", **env):
    """The document of a run."""
    result = railgauge("run", collective, *SMALL, *args, "--json", **env)
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout)


def is_right(got):
    """Whether all was verified; what does not run in place has no answer there."""
    ways = ("out_of_place",) if got["collective"] in ("alltoall", "sendrecv") else ("out_of_place", "in_place")
    return got["status"] == "ok" and all(row[way]["wrong"] == 0 for row in got["rows"] for way in ways)


@pytest.mark.parametrize("collective", NUMBERS)
def test_every_collective_is_verified(fake_gpus, collective):
    got = run("-g", "3", "-d", "half", collective=collective, **fake_gpus(3))
    assert (got["device"], got["ranks"]) == ("cuda", 3)
    assert is_right(got)


def test_the_host_waits_for_each_operation(fake_gpus, tmp_path):
    log = tmp_path / "launches"
    got = run("-g", "2", "-z", "1", "-n", "30", "-w", "0", **fake_gpus(2), FAKE_CUDA_LAUNCHES=str(log))
    assert is_right(got)
    under_way = [int(line.split()[3]) for line in log.read_text().splitlines()]
    assert len(under_way) > 2 * 30
    assert max(under_way) <= 4  # what it waits for, and marks


def test_the_host_cannot_wait_within_a_graph(fake_gpus):
    result = railgauge("run", "all_reduce", *SMALL, "-g", "2", "-z", "1", "-G", "2", **fake_gpus(2))
    assert (result.returncode, "-z and -G exclude each other: the host cannot wait" in result.stderr) == (2, True), (
        result.stderr
    )


def test_every_type_is_verified(fake_gpus):
    got = run("-g", "2", "-d", "all", "-b", "1001", "-e", "1001", **fake_gpus(2))
    assert is_right(got)
    assert len({row["dtype"] for row in got["rows"]}) == 12


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_every_operator_by_any_number_of_gpus(fake_gpus, ranks):
    got = run("-g", str(ranks), "-o", "all", **fake_gpus(ranks))
    assert is_right(got)
    assert {c["via"] for c in got["connections"]} == ({"P2P/direct pointer"} if ranks > 1 else set())


def test_long_messages(fake_gpus):
    got = run("-g", "2", "-b", "24M", "-e", "24M", "-n", "1", **fake_gpus(2))
    assert is_right(got)
    assert (got["rows"][0]["algorithm"], got["rows"][0]["protocol"]) == ("two-shot", "simple")


def test_processes_reach_each_other_by_ipc(fake_gpus):
    result = railgauge("run", "all_reduce", *SMALL, "--ranks", "2", "--json", NCCL_DEBUG="INFO", **fake_gpus(2))
    assert result.returncode == 0, result.stderr
    got = json.loads(result.stdout)
    assert is_right(got)
    assert [(c["from"], c["to"], c["via"], c["planned"]) for c in got["connections"]] == [
        (0, 1, "P2P/IPC", "P2P/IPC"),
        (1, 0, "P2P/IPC", "P2P/IPC"),
    ]
    assert all(c["bytes_sent"] == c["bytes_received"] > 0 for c in got["connections"])
    assert re.search(r"\[0\] NCCL INFO Channel 00/0 : 0\[0\] -> 1\[1\] via P2P/IPC", result.stderr)


def test_the_table_names_the_gpus(fake_gpus):
    shown = railgauge("run", "all_reduce", *SMALL, "-g", "2", **fake_gpus(2)).stdout
    assert re.search(r"#  Rank  1 Group  0 Pid +\d+ on +\S+ device  1 \[0000:11:00\.0\] fake GPU", shown)
    assert "# Out of bounds values : 0 OK" in shown


def test_launches_in_cuda_graphs(fake_gpus):
    assert is_right(run("-g", "2", "-G", "3", **fake_gpus(2)))


def test_gpus_are_taken_where_there_are_some(fake_gpus):
    assert run("-g", "2", "--device", "auto", **fake_gpus(2))["device"] == "cuda"


def test_a_way_that_was_asked_for(fake_gpus):
    asked = ("-g", "2", "--expect-transport", "P2P")
    assert is_right(run(*asked, **fake_gpus(2)))
    got = run(*asked, status=4, NCCL_P2P_DISABLE="1", **fake_gpus(2))
    assert "went via SHM, expected P2P" in got["error"]


def test_gpus_that_do_not_reach_each_other_go_through_the_host(fake_gpus):
    got = run("-g", "2", **fake_gpus(2, faults="cuCtxEnablePeerAccess=217"))
    assert is_right(got)
    assert {c["via"] for c in got["connections"]} == {"SHM"}


def by_hand(count, **env):
    """A process for each rank as a launcher of PyTorch's kind starts them: all see all GPUs. Their documents."""
    place = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1"}
    place["MASTER_PORT"] = str(free_port())
    ranks = [
        subprocess.Popen(
            command("run", "all_reduce", *SMALL, "-e", "2M", "--json"),
            env=clean_environment(
                RANK=str(rank),
                LOCAL_RANK=str(rank),
                **place,
                **{name: value(rank) if callable(value) else value for name, value in env.items()},
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    told = [rank.communicate(timeout=HANGS_AFTER_S) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * count, told
    return json.loads(told[0][0])


def test_the_local_rank_says_whose_gpu_is_whose(fake_gpus):
    got = by_hand(2, **fake_gpus(2))
    assert is_right(got)
    assert {c["via"] for c in got["connections"]} == {"P2P/IPC"}


def test_each_process_may_see_its_own_gpu_alone(fake_gpus):
    assert is_right(by_hand(2, CUDA_VISIBLE_DEVICES=str, **fake_gpus(2)))


def test_gpus_of_several_hosts(fake_gpus):
    """Two GPUs on each of two hosts that share no memory: the ring goes over sockets between them."""
    got = by_hand(4, NCCL_HOSTID=lambda rank: f"host-{rank // 2}", NCCL_SOCKET_IFNAME="lo", **fake_gpus(4))
    assert is_right(got)
    assert got["nodes"] == 2
    assert {c["via"] for c in got["connections"]} == {"P2P/IPC", "NET/Socket/0"}


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_under_mpirun(fake_gpus, mpi):
    got = launch(peer(mpi), "-np", "2", *command("run", "all_reduce", *SMALL, "--json"), **fake_gpus(2))
    assert got.returncode == 0, got.stderr
    assert is_right(json.loads(got.stdout))


def test_a_trace_of_all_ranks_is_replayed_between_gpus_and_groups_are_refused(fake_gpus, tmp_path):
    call = {"comms": "all_reduce", "in_msg_size": 500, "out_msg_size": 500, "dtype": "Half", "world_size": 3}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([call, call | {"comms": "all_to_all"}]))
    result = railgauge("run", "--trace", str(path), "--device", "cuda", "-g", "3", "--json", **fake_gpus(3))
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["replay"]
    assert [(row["collective"], row["wrong"], row["forecast_us"] > 0) for row in rows] == [
        ("all_reduce", 0, True),
        ("alltoall", 0, True),
    ]
    path.write_text(json.dumps([{"comms": "init", "pg_id": 5, "global_ranks": [0, 2]}, call | {"pg_id": 5}]))
    result = railgauge("run", "--trace", str(path), "--device", "cuda", "-g", "3", **fake_gpus(3))
    assert (result.returncode, "--engine nccl replays such groups" in result.stderr) == (2, True)
