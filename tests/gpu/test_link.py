# SPDX-License-Identifier: Apache-2.0
"""railgauge link --device cuda on fake GPUs, as a user runs it: exit status, text and documents."""

import json
import re
import subprocess
import sys

import pytest
from tests.cli.command import clean_environment, railgauge
from tests.cli.test_schemas import check
from tests.patience import HANGS_AFTER_S

SMALL = ("-b", "100001", "--latency-bytes", "9", "-n", "2", "--timeout", "60")


def link(env, *args, status=0):
    done = railgauge("link", *args, **env)
    slow = status == 0 and done.returncode == 1 and "railgauge link: GPU" not in done.stderr  # they are simulated
    assert done.returncode == status or slow, done.stderr
    return done


def document(env, *args, status=0):
    got = json.loads(link(env, *args, "--json", status=status).stdout)
    check("link", got)
    return got


def test_gpus_are_measured_where_there_are_some_by_all_that_moves_bytes(fake_gpus):
    done = link(fake_gpus(3), *SMALL, "--json")
    got = json.loads(done.stdout)
    check("link", got)
    assert "measuring GPUs" in done.stderr
    assert (got["status"], got["device"]) == ("ok", "cuda")
    assert [rank["gpu"] for rank in got["ranks"]] == ["0000:10:00.0", "0000:11:00.0", "0000:12:00.0"]
    assert sorted((one["by"], one["from"], one["to"]) for one in got["links"]) == sorted(
        (by, a, b) for by in ("copy engine", "stores", "loads") for a in range(3) for b in range(3) if a != b
    )
    for one in got["links"]:
        assert (one["via"], one["path_type"], one["nvlinks"]) == ("P2P/direct pointer", "NVL", 18)
        assert one["ratio"] == pytest.approx(one["gb_per_s"] / 370.8)
        assert min(one["gb_per_s"], one["both_ways_gb_per_s"], one["latency_us"]) > 0
        assert (one["wrong"], one["bytes_sent"]) == (0, None)


def test_matrices_of_one_way_of_both_and_of_latency(fake_gpus):
    out = link(fake_gpus(3), *SMALL, "--device", "cuda").stdout
    for title in (
        "P2P by stores: GB/s, one direction",
        "P2P by stores: GB/s each direction, both",
        "P2P by stores: us",
    ):
        matrix = out[out.index(title) :].splitlines()[1:5]
        assert matrix[0].split() == ["0", "1", "2"]
        assert [line.split()[:2] for line in matrix[1:]] == [["GPU", "0"], ["GPU", "1"], ["GPU", "2"]]
    assert re.search(r"P2P by copy engine over NV18: 3 pairs; medians\n +one direction .* of the predicted 371", out)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"NCCL_P2P_DISABLE": "1"}, "NCCL_P2P_DISABLE=1 allows P2P up to LOC, and the path is NVL"),
        ({"FAKE_CUDA_FAULTS": "cuCtxEnablePeerAccess=217"}, "CUDA does not let them access each other's memory"),
    ],
)
def test_without_p2p_it_goes_through_the_host_and_says_why(fake_gpus, setting, why):
    done = link(fake_gpus(2) | setting, *SMALL, "--json")
    assert f"using memory of the host: GPUs 0-1: {why}" in done.stderr
    assert [(one["via"], one["by"], one["path_type"]) for one in json.loads(done.stdout)["links"]] == [
        ("SHM", "copy engine", "PHB")
    ] * 2
    assert why in link(fake_gpus(2) | setting, *SMALL, "--transport", "P2P", status=3).stderr


def test_damaged_bytes_are_found_in_both_directions(fake_gpus):
    got = document(fake_gpus(2, faults="launch:copy=corrupt"), *SMALL, "0", "1", status=4)
    wrong = [one["wrong"] / one["measured"] for one in got["links"]]
    assert wrong == [0, 0, 2, 2, 2, 2]  # of a long and of a short message
    assert "4 bytes over P2P by stores are wrong: random data: index 4: expected" in got["error"]


def test_a_gpu_that_never_answers_is_named_within_the_timeout(fake_gpus):
    done = link(fake_gpus(2, faults="launch:hand_over@1=late"), "-b", "1K", "-n", "1", "--timeout", "0.5", status=4)
    assert "GPU 1 did not answer within 0.5" in done.stderr


def test_messages_are_shorter_where_memory_is_short(fake_gpus):
    done = link(fake_gpus(2, memory=8 << 20), "-n", "1", "--json")
    assert "-b 268435456: GPU 0 has" in done.stderr
    assert json.loads(done.stdout)["bytes"] == 3 << 20


@pytest.mark.parametrize(
    ("gpus", "args", "status", "words"),
    [
        (0, (), 3, "no GPU|no NVIDIA|cuInit|NO_DEVICE"),
        (1, (), 3, "at least two GPUs are needed, and CUDA finds 1"),
        (2, ("0", "2"), 2, "GPU 2 does not exist: CUDA finds GPUs 0 to 1"),
        (2, ("--ranks", "2"), 2, "leave --ranks"),
        (2, ("--bisect",), 2, "--bisect: for ranks on the host"),
    ],
)
def test_what_makes_no_sense_on_gpus(fake_gpus, gpus, args, status, words):
    done = link(fake_gpus(gpus), "--device", "cuda", *args, status=status)
    assert re.search(words, done.stderr)
    assert done.stdout == ""


def test_ranks_that_are_asked_for_are_measured_on_the_host(fake_gpus):
    got = document(fake_gpus(2) | {"NCCL_SOCKET_IFNAME": "lo"}, "--ranks", "2", "-b", "64K", "-n", "1")
    assert (got["device"], {one["by"] for one in got["links"]}) == ("cpu", {None})


FLOWS = """
import os
from railgauge._native import collectives as native
from railgauge.collectives.link.copy_method import CopyMethod, Flow

link = native.GpuLink(0, 1, 4096, True, 20.0)
for flow in Flow:
    link.seconds(CopyMethod.STORES, flow, 1000, 2)
    with open(os.environ["FAKE_CUDA_LAUNCHES"], "a") as log:
        print("end", file=log)
"""


def test_each_direction_is_copied_by_the_gpu_that_sends(fake_gpus, tmp_path):
    log = tmp_path / "launches"
    env = clean_environment(FAKE_CUDA_LAUNCHES=str(log), **fake_gpus(2))
    subprocess.run((sys.executable, "-c", FLOWS), env=env, timeout=HANGS_AFTER_S, check=True)
    flows = [[line.split() for line in flow.splitlines()] for flow in log.read_text().split("end\n")]
    kernels = [{(launch[0], launch[1]) for launch in flow} for flow in flows if flow]
    copies, answers = ({(gpu, kernel) for gpu in "01"} for kernel in ("copy", "hand_over"))
    assert kernels == [{("0", "copy")}, {("1", "copy")}, copies, answers]
