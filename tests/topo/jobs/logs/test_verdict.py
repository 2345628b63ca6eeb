# SPDX-License-Identifier: Apache-2.0
"""Logs of all kinds get the verdict that they deserve, whatever is wrapped around their lines."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.jobs.logs.excerpts import HEALTHY, LOGS, said
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.card import Area, in_area
from railgauge.topo.jobs.logs.verdict import verdict
from railgauge.topo.render.log import log_document, log_lines
from railgauge.topo.render.palette import text_of

DEVICE = re.compile(r"\b(?:GPU|NIC|mlx5_)[0-9]+")
LOST = "a:1:1 [0] NCCL WARN socketProgress: Connection closed by remote peer node2<42830>\n"
TIMEOUT = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2) ran for 1800068 milliseconds\n"
AFTER = (
    "a:1:1 [0] proxy.cc:1 NCCL WARN Socket recv failed while polling for opId=0x7f\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
    "# Out of bounds values : 248 FAILED\n"
)


def log_text(log, found):
    return "\n".join(map(text_of, log_lines(log, found)))


def judged(content, block=1 << 20):
    found = verdict(read(content, block))
    return found.rdma, found.gdr, [finding.id for finding in found.findings]


@pytest.mark.parametrize("name", LOGS)
def test_verdict(name):
    content, *expected = LOGS[name]
    assert list(judged(content)) == expected


@pytest.mark.parametrize("card", in_area(Area.LOGS), ids=lambda card: card.id)
def test_what_logs_alone_show_is_found(card):
    log = read("".join(content for content, *_ in LOGS.values()) + LOST + TIMEOUT + AFTER)
    assert {one.level for one in verdict(log).findings if one.id == card.id} <= set(card.levels)
    assert card.id in {one.id for one in verdict(log).findings}
    assert card.id not in {one.id for one in verdict(read(HEALTHY)).findings}


@pytest.mark.parametrize("name", LOGS)
def test_a_remedy_names_no_device_that_is_not_in_the_log(name):
    content = LOGS[name][0]
    found = verdict(read(content)).findings
    named = {device for one in found for device in DEVICE.findall(one.remedy)}
    assert {device for device in named if device not in content} == set()


def test_what_is_known_of_a_job():
    log = read(HEALTHY)
    assert log.releases == {"NCCL 2.27.5": {"gpu-01", "gpu-02"}}
    assert [(one.rank, one.host, one.bus_id) for one in log.ranks.values()] == [
        (0, "gpu-01", "1b000"),
        (1, "gpu-02", "1b000"),
    ]
    assert log.rings == {0: (0, 1), 1: (0, 1)}
    assert log.trees == {0: {0: -1, 1: 0}, 1: {0: 1, 1: -1}}
    assert {one.comm for one in log.connections.kept} == {"0xc0ffee"}
    explained = log_text(log, verdict(log))
    assert "channel 0: 0 -> 1 [send] via NET/IB/0/GDRDMA" in explained
    assert "ring 0: 0 -> 1" in explained


def test_connections_without_gdr_say_so():
    log = read(said("a", "Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0"))
    assert "channel 1: 0 -> 1 [send] via NET/IB/0, no GDR" in log_text(log, verdict(log))


WRAPPERS = {
    "torchrun": "[rank0]: {}",
    "torchrun --tee": "[default0]:{}",
    "slurm": "0: {}",
    "mpirun": "[1,0]<stdout>:{}",
    "mpirun with a stamp": "Sat Nov 21 08:00:00 2026[1,0]<stderr>:{}",
    "kubernetes": "2026-11-21T20:00:45.123456789Z stdout F {}",
    "docker": '{{"log":"{}\\n","stream":"stdout","time":"2026-11-21T20:00:45Z"}}',
    "ray": "\x1b[36m(RayWorker pid=123, ip=10.0.0.1)\x1b[0m {}",
    "colours": "\x1b[32m{}\x1b[0m",
    "a stamp": "[2026-11-21 08:00:00] {}",
    "windows": "{}\r",
    "stern": "train-0 pytorch {}",
}


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("log", ["healthy", "GDR through one NIC only", "no RDMA in a container", "releases"])
def test_what_is_wrapped_around_changes_nothing(name, log):
    content, *expected = LOGS[log]
    wrapped = "".join(WRAPPERS[name].format(line) + "\n" for line in content.splitlines())
    assert list(judged(wrapped)) == expected
    plain, inside = read(content), read(wrapped)
    assert (list(plain.hosts), plain.connections.kept) == (list(inside.hosts), inside.connections.kept)
    assert (plain.ranks, plain.rings, plain.trees) == (inside.ranks, inside.rings, inside.trees)


@pytest.mark.parametrize("arrow", ["->", "-", "", "-&gt;", "→", ">", "=>"])
def test_arrows_that_were_lost(arrow):
    log = read(HEALTHY.replace("[0] -> 1", f"[0] {arrow} 1").replace("[1] -> 0", f"[1] {arrow} 0"))
    assert log.connections.kept == read(HEALTHY).connections.kept


def test_ranks_that_cut_into_each_other():
    content = "lm2:1731539:17lm2:1731538:1731577 [1] NCCL INFO Using network IB\n"
    content += "lm2:1:1 [0] NClm2:2:2 [1] NCCL INFO NCCL version 2.23.4\n"
    log = read(
        content + "lm2:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHMlm2:2:2 [1] NCCL INFO Using network IB\n"
    )
    assert list(log.hosts) == ["lm2"]
    assert log.networks == {"lm2": {"IB"}}
    assert log.releases == {"NCCL 2.23.4": {"lm2"}}
    assert [one.via for one in log.connections.kept] == ["SHM"]


def test_ranks_of_several_communicators_are_told_apart():
    first = said("a", "comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE")
    second = said("a", "comm 0x2 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE")
    other = said("b", "comm 0x9 rank 1 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE")
    ranks = read(first + second + other).ranks
    assert [(one.comm, one.rank, one.host) for one in ranks.values()] == [
        ("1 of 2 ranks", 0, "a"),
        ("2 of 2 ranks", 0, "a"),
        ("1 of 2 ranks", 1, "b"),
    ]


def test_other_programs_words_are_not_nccls():
    content = "".join(
        said("a", "Using network IB") + "connect to store failed: Connection refused, Too many open files\n"
    )
    assert judged(content) == ("chosen", "unknown", [])


def test_a_try_that_is_repeated_is_no_failure():
    assert judged(said("a", "Using network IB", "Call to connect returned Connection refused, retrying"))[2] == []


ALONE = said("a", "Using network Socket", "comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1000 - Init COMPLETE")


def test_sockets_have_no_gpudirect_rdma_to_lack():
    assert judged(ALONE + said("a", "NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'")) == (
        "unneeded",
        "unknown",
        [],
    )


def test_channels_that_leave_by_a_nic_are_of_several_nodes():
    """As with ranks of one host that NCCL_HOSTID tells apart."""
    rdma, _, found = judged(ALONE + said("a", " 0 : NET/0-0 GPU/0-60 GPU/0-70 NET/0-0"))
    assert (rdma, found) == ("no", ["verbs-device-missing"])


def test_nothing_of_nccl():
    assert read("loss 2.3\nThe data goes via NETwork and failed once\n").empty


def whole(log):
    """All that is said of a log, which has to be possible."""
    found = verdict(log)
    return log_document(log, found), log_text(log, found)


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data):
    whole(read(data))


ALL = "".join(content for content, *_ in LOGS.values()).encode()


@settings(max_examples=20)
@given(st.integers(0, len(ALL)), st.integers(0, 3000), st.binary(max_size=20))
def test_a_log_that_is_cut_anywhere_and_damaged_is_read(begin, size, damage):
    piece = ALL[begin : begin + size]
    whole(read(piece[: size // 2] + damage + piece[size // 2 :]))


@settings(max_examples=20)
@given(st.integers(1, 500))
def test_blocks_may_end_anywhere(block):
    assert whole(read(ALL, block)) == whole(read(ALL))


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), max_size=30))
def test_no_prefix_changes_the_verdict(prefix):
    wrapped = "".join(f"{prefix} {line}\n" for line in HEALTHY.splitlines())
    assert judged(wrapped)[:2] == ("yes", "yes")


@pytest.mark.parametrize(
    "text",
    [
        "MNNVL busId 0x1906000 fabric UUID 1.2 cliqueId 0xd26 state 3 healthMask 0x1ceive",
        f"{'9' * 5000} coll channels, 0 nvls channels",
        f"Channel 00/02 :    0   {'1' * 5000}",
        f"Pattern 4, crossNic 0, nChannels 1, bw {'9' * 400}/5.0, type SYS/PIX, sameChannels 1",
        "Pattern 4, crossNic 0, nChannels 1, bw 1.2.3/5.0, type SYS/PIX, sameChannels 1",
        "ncclTopoGetCpuAffinity: Affinity for GPU 1 is 9-3,-. (GPU affinity = 0-999999999 ; CPU affinity = 1).",
        f"{'a' * 30000} NCCL INFO",
    ],
)
def test_figures_that_are_none(text):
    whole(read(said("a", text, "Using network IB")))
