# SPDX-License-Identifier: Apache-2.0
"""The tournament of GPUs over synthetic links: figures from seconds, what stands out, wrong bytes, one that fails."""

import threading
from collections import Counter
from dataclasses import replace

import pytest

from railgauge.collectives.device import Device
from railgauge.collectives.link.copy_method import CopyMethod, Flow
from railgauge.collectives.link.gpu_measurement import Tournament, affordable, check_gpus
from railgauge.collectives.link.gpu_path import GpuPath
from railgauge.collectives.link.gpu_way import GpuWay
from railgauge.collectives.link.judgement import judge
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult, RankPlace
from railgauge.collectives.link.tournament import Pair, rounds
from railgauge.collectives.report.link import link_document, link_lines
from railgauge.topo.errors import AbortedError, UnavailableError, UsageError, VerificationError, WaitTimeoutError

JOB = LinkJob(device=Device.CUDA, bytes=10**9, latency_bytes=8, iterations=2, timeout_s=20.0)
SECONDS = {Flow.OUT: 0.004, Flow.BACK: 0.005, Flow.BOTH: 0.008, Flow.THERE_AND_BACK: 4e-6}
RIGHT = (0, 0, 0.0, 0.0, 0.0)
FAR_S = 20.0


class FakeLink:
    """Takes the seconds of its flows, `slower` times those; what comes to the higher GPU may be wrong."""

    def __init__(self, slower: float = 1.0, wrong: int = 0, fails: bool = False, awaits: bool = False) -> None:
        self._slower, self._wrong, self._fails, self._awaits = slower, wrong, fails, awaits
        self.aborted = threading.Event()

    def seconds(self, method, flow, size, times):
        assert size == (JOB.latency_bytes if flow == Flow.THERE_AND_BACK else JOB.bytes)
        if self._fails:
            raise WaitTimeoutError("GPU 1 did not answer")
        if self._awaits:
            assert self.aborted.wait(FAR_S)
            raise AbortedError("the measurement was ended")
        return SECONDS[Flow(flow)] * self._slower

    def check(self, method, size, seed):
        return RIGHT, (self._wrong, 5, 1.0, 2.0, 0.0) if size == JOB.bytes else RIGHT

    def abort(self):
        self.aborted.set()


def tournament(gpus: int, links: dict[Pair, FakeLink], methods=(CopyMethod.STORES,)):
    """The result, the pairs in the order in which they were connected, and what was raised."""
    pairs = [pair for each in rounds(gpus) for pair in each]
    ways = [GpuWay("P2P", method, dict.fromkeys(pairs, GpuPath("NVL", 18, 200.0))) for method in methods]
    places = [RankPlace(rank=gpu, host="gpu-01", numa=0, gpu=f"0000:{gpu:02x}:00.0") for gpu in range(gpus)]
    result, connected = LinkResult(job=JOB, ranks=places), []

    def connect(low, high, room, peers, timeout_s):
        assert (room, peers, timeout_s) == (JOB.bytes, True, 20.0)
        connected.append((low, high))
        return links.get((low, high)) or FakeLink()

    try:
        Tournament(result, connect, lambda _: None).run(ways)
    except Exception as error:
        return result, connected, error
    return result, connected, None


def test_figures_are_of_each_direction_and_beside_the_paths_bandwidth():
    result, _, error = tournament(2, {}, tuple(CopyMethod))
    assert error is None
    assert [link.way_name for link in result.links] == ["P2P by copy engine", "P2P by stores", "P2P by loads"]
    for link in result.links:
        assert link.gb_per_s == (pytest.approx(250), pytest.approx(200))
        assert (link.both_ways_gb_per_s, link.latency_us) == (pytest.approx(125), pytest.approx(2))
    out, back = link_document(result, [])["links"][:2]
    assert (out["ratio"], back["ratio"], out["nvlinks"]) == (pytest.approx(1.25), pytest.approx(1), 18)
    text = ["".join(part for part, _ in line) for line in link_lines(result, [], None)]
    assert text[0] == "2 GPUs of gpu-01"
    assert "  one direction   225 GB/s, 1.12 of the predicted 200; 200 (1 -> 0) to 250 (0 -> 1)" in text


def test_all_pairs_meet_and_a_slow_gpu_is_measured_again_and_named():
    slow = {(low, 3): FakeLink(slower=3) for low in range(3)} | {(3, 4): FakeLink(slower=3)}
    result, connected, error = tournament(5, slow)
    assert error is None
    assert sorted(connected[:10]) == sorted(pair for each in rounds(5) for pair in each)
    again = Counter(connected[10:])
    assert all(again[pair] >= 3 for pair in slow)
    finding = judge(result)[0]
    assert (finding.id, finding.level, finding.subject) == ("slow-node", "FAIL", "GPU 3")
    assert "what the other GPUs have" in finding.message
    assert "nvidia-smi nvlink" in finding.remedy


def test_wrong_bytes_are_told_at_the_end_with_their_direction():
    result, _, error = tournament(4, {(1, 2): FakeLink(wrong=7)})
    assert isinstance(error, VerificationError)
    assert str(error).startswith("GPUs 1 and 2: 7 bytes over P2P by stores are wrong: random data: index 5: expected 1")
    assert len(result.links) == 6
    assert next(link for link in result.links if link.ranks == (1, 2)).wrong == (7, 0)


def test_one_that_hangs_ends_the_others_of_its_round():
    other = FakeLink(awaits=True)
    first = rounds(4)[0]
    result, connected, error = tournament(4, {first[0]: other, first[1]: FakeLink(fails=True)})
    assert isinstance(error, WaitTimeoutError)
    assert other.aborted.is_set()
    assert (connected, result.links) == (first, [])


def test_messages_are_as_long_as_memory_allows_and_that_is_told():
    told: list[str] = []
    assert affordable(JOB, {0: 10**12, 1: 10**12}, told.append) == JOB
    assert told == []
    shorter = affordable(JOB, {0: 10**12, 2: 10**9}, told.append)
    assert shorter == replace(JOB, bytes=429 << 20)
    assert told == ["-b 1000000000: GPU 2 has 953 MiB free, so messages are 429 MiB"]
    with pytest.raises(UnavailableError, match="GPU 0 has 1000000 bytes free"):
        affordable(JOB, {0: 10**6}, told.append)


def test_a_link_takes_two_gpus_that_are_there():
    check_gpus(replace(JOB, pair=(0, 3)), 4)
    with pytest.raises(UsageError, match="GPU 4 does not exist: CUDA finds GPUs 0 to 3"):
        check_gpus(replace(JOB, pair=(0, 4)), 4)
    with pytest.raises(UnavailableError, match="CUDA finds 1"):
        check_gpus(JOB, 1)
