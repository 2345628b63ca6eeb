# SPDX-License-Identifier: Apache-2.0
"""What a line must hold for a pattern to match it, so that most patterns are not tried; and blocks of several kinds."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.card import cards
from railgauge.topo.jobs.logs.catalogue import catalogue
from railgauge.topo.jobs.logs.needles import needles

THREADS = tomllib.loads(Path(__file__).with_name("threads.toml").read_text())
LINES = [line for card in cards().values() for line in card.shows]
LINES += [line for row in THREADS.values() for line in row["log"].splitlines()]


@pytest.mark.parametrize(
    ("regex", "found"),
    [
        ("abcd", {"abcd"}),
        ("Abc|d[xy]efg", {"abc", "efg"}),
        (r"abc?def", {"def"}),
        (r"abcd+ef", {"abcd"}),
        (r"a\.bc\d+x", {"a.bc"}),
        (r"ab(?:cde|fgh)ij", {"cde", "fgh"}),
        (r"ab(?:cde|f)ij", None),
        (r"ab(?:cde|fgh)?ij", None),
        (r"(?i:ABC|x(?!foo)yz1)", {"abc", "yz1"}),
        (r"(?!foo)ab", None),
        (r"ab{0,3}cde", {"cde"}),
        (r"[|]abc", {"abc"}),
        ("", None),
    ],
)
def test_needles_of_a_pattern(regex, found):
    assert needles(regex) == (None if found is None else frozenset(found))


def test_no_line_that_a_pattern_matches_lacks_its_needles():
    tried = 0
    for entry in catalogue():
        some = needles(entry.pattern.regex)
        for line in LINES if some else ():
            if re.search(entry.pattern.regex, line):
                tried += 1
                assert any(needle in line.lower() for needle in some or ()), (entry.pattern.regex, line)
    assert tried > len(catalogue())


def test_few_patterns_are_tried_on_every_line():
    assert sum(needles(entry.pattern.regex) is None for entry in catalogue()) < len(catalogue()) / 20


def test_connections_are_counted_among_lines_of_programs(monkeypatch):
    monkeypatch.setattr("railgauge.topo.jobs.logs.connections.MOST", 2)
    lines = [f"a:{rank}:9 [0] NCCL INFO Channel 00/0 : {rank}[0] -> {rank + 1}[0] via NET/IB/0" for rank in range(9)]
    text = "\n".join(f"{line}\nloss: 0.1 of step 7, host a: 3" for line in lines)
    log = read(text)
    log.read((text + "\n").encode())
    assert sum(log.connections.beyond.values()) == len(lines)
