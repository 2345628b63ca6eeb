# SPDX-License-Identifier: Apache-2.0
"""Logs of many ranks: what is kept is bounded, and the verdict still counts every connection."""

import itertools
import random
import re
import tomllib
from pathlib import Path

import pytest
from benchmarks.log import jobs
from tests.topo.jobs.logs.read import read

from railgauge.topo.files.lines import whole_lines
from railgauge.topo.jobs.logs import connections, scan
from railgauge.topo.jobs.logs.scan import Scanner
from railgauge.topo.jobs.logs.verdict import verdict
from railgauge.topo.jobs.tables.tables import read_tables


def log_of(kind, count):
    return "".join(f"{line}\n" for line in itertools.islice(jobs.lines(kind), count)).encode()


def test_connections_beyond_those_kept_are_counted(monkeypatch):
    monkeypatch.setattr(connections, "MOST", 1000)
    data = log_of("alltoall", 40_000)
    log = read(data, block=1 << 16)
    told = data.count(b" via ")
    assert 1000 <= len(log.connections.kept) < 2000
    assert len(log.connections.kept) + log.connections.beyond.total() == told
    assert sum(times for _, times in log.connections.traffic()) == told
    assert verdict(log).gdr == "yes"


def test_the_odd_one_among_those_beyond_is_found(monkeypatch):
    monkeypatch.setattr(connections, "MOST", 1000)
    data = log_of("alltoall", 40_000) + b"z:1:1 [0] NCCL INFO Channel 00/1 : 8[0] -> 9[1] [send] via NET/IB/0\n"
    found = verdict(read(data, block=1 << 16))
    assert (found.gdr, [finding.id for finding in found.findings]) == ("partly", ["peermem-missing"])
    assert "on z" in found.findings[0].message


@pytest.mark.parametrize("before", [b"", b"12:30:01 ", b"[1,4]<stdout>:", b"[default7]: ", b"2026-11-21T08:00:00Z x "])
@pytest.mark.parametrize(
    "other", [b"", b"no colon\n", b"a: b [0] NCCL INFO x\n", b"z:1:1 [0] NCCL INFO Channel 00 : 1[1]\n"]
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_connections_are_counted_among_anything(before, other, end):
    line = b"h%d:10:10 [0] NCCL INFO Channel 0%d/1 : 8[0] -> %d[1] [send] via NET/IB/%d/GDRDMA%s"
    told = [before + line % (number % 3, number % 7, number, number % 2, end) for number in range(30)]
    counted = connections.LoggedConnections()
    alone = counted.count(b"".join([*told[:10], other, *told[10:]]))
    assert alone == (not other)
    assert {(one.host, one.end, one.via): times for one, times in counted.beyond.items()} == {
        (f"h{host}", "send", f"NET/IB/{nic}/GDRDMA"): 5 for host in range(3) for nic in range(2)
    }


@pytest.mark.parametrize("kind", ["train", "alltoall"])
def test_a_line_that_is_a_connection_and_nothing_else_is_read_as_any_other(kind):
    data = log_of(kind, 20_000)
    log, other = read(data), read(re.sub(rb"(?m)^", b"\x1b[0m", data))
    assert log.connections.kept
    assert list(log.connections.kept) == list(other.connections.kept)
    assert (log.connections.brackets, log.hosts, log.messages) == (
        other.connections.brackets,
        other.hosts,
        other.messages,
    )


def test_what_cuts_into_a_connection_is_read_as_before():
    line = b"a:1:1 [0] NCCL INFO Channel 00/1 : 8[0] -> 9[1] [send] via NET/IB/0"
    for cut in (b"b:2:2 [0] NCCL INFO Using network IB", b" comm 0x55 nRanks 04", b",x", b";x", b"\xff"):
        log, other = read(line + cut + b"\n"), read(b"\x1b[0m" + line + cut + b"\n")
        assert (log.connections.kept, log.networks) == (other.connections.kept, other.networks)


def test_lines_of_collectives_are_passed_over():
    data = log_of("train", 60_000)
    read_lines = list(Scanner().lines(data))
    assert not any(b"opCount" in line or b"iteration" in line for line in read_lines)
    assert len(read_lines) == sum(b"opCount" not in line and b"iteration" not in line for line in data.splitlines())


def words(block):
    """The lines that hold one of the words, each looked at by itself."""
    any_word = b"|".join(map(re.escape, scan.WORDS.split(b"|")))
    patterns = [re.compile(pattern) for pattern in (scan.INFO % scan.CHANNEL, scan.OTHER % (scan.VIA, any_word))]
    return [line for line in block.splitlines() if any(pattern.search(line) for pattern in patterns)]


@pytest.mark.parametrize("most", [1, 1 << 13])
def test_no_line_with_a_word_is_passed_over(monkeypatch, most):
    monkeypatch.setattr(scan, "MOST_SHAPES", most)
    rng = random.Random(5)
    threads = tomllib.loads(Path(__file__).with_name("threads.toml").read_text())
    known = [line for row in threads.values() for line in row["log"].encode().splitlines()]
    scanner, passed_over = Scanner(), 0
    for _ in range(60):
        block = b"".join(rng.choice([*known, b"step 12 of 9f", b"failed", b"faile5"]) + b"\n" for _ in range(50))
        found = [*scanner.lines(block)]
        assert set(words(block)) <= {*found}
        passed_over += 50 - len(found)
    assert passed_over > 0


def test_words_are_looked_for_once_in_lines_that_differ_in_numbers(monkeypatch):
    searched = []
    begins = scan._begins
    monkeypatch.setattr(scan, "_begins", lambda patterns, text: searched.append(len(text)) or begins(patterns, text))
    scanner, block = Scanner(), log_of("train", 60_000)
    for _ in range(3):
        list(scanner.lines(block))
    assert sum(searched) < len(block) / 100


def test_a_line_without_end_is_bounded():
    held = [len(piece) for piece in whole_lines([b"x" * (1 << 20)] * 40)]
    assert sum(held) <= 2 << 20


def test_a_table_behind_connections_that_are_counted_has_its_line(monkeypatch):
    monkeypatch.setattr(connections, "MOST", 1000)
    table = (
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
        "#  size   count   type   redop   root   time   algbw   busbw #wrong   time   algbw   busbw #wrong\n"
        "      8       2  float     sum     -1  12.00    0.00    0.00      0  12.00    0.00    0.00      0\n"
    )
    data = log_of("alltoall", 40_000)
    log = read(data + table.encode(), block=1 << 16)
    log.end_file()
    assert [found.line for found in log.outputs.tables] == [
        found.line + data.count(b"\n") for found in read_tables(table)
    ]
    assert log.outputs.tables
