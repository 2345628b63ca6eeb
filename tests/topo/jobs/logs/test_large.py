# SPDX-License-Identifier: Apache-2.0
"""Logs of many ranks: what is kept is bounded, and the verdict still counts every connection."""

import itertools

from benchmarks.log import jobs
from tests.topo.jobs.logs.read import read

from railgauge.topo.files.lines import whole_lines
from railgauge.topo.jobs.logs import connections
from railgauge.topo.jobs.logs.scan import Scanner
from railgauge.topo.jobs.logs.verdict import verdict


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


def test_lines_of_collectives_are_passed_over():
    data = log_of("train", 60_000)
    read_lines = list(Scanner().lines(data))
    assert not any(b"opCount" in line or b"iteration" in line for line in read_lines)
    assert len(read_lines) == sum(b"opCount" not in line and b"iteration" not in line for line in data.splitlines())


def test_a_line_without_end_is_bounded():
    held = [len(piece) for piece in whole_lines([b"x" * (1 << 20)] * 40)]
    assert sum(held) <= 2 << 20
