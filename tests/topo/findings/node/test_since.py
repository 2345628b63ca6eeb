# SPDX-License-Identifier: Apache-2.0
"""Findings beside a baseline: what is new, worse, better, the same, gone, and what nobody can know."""

import pytest

from railgauge.topo.findings.finding import Finding, Level, Since
from railgauge.topo.findings.node.baseline import Baseline
from railgauge.topo.findings.node.since import compare
from railgauge.topo.machine import Machine
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology

LEVELS = {"P": Level.PASS, "I": Level.INFO, "W": Level.WARN, "F": Level.FAIL, "U": Level.UNKNOWN}


def finding(level, subject="nic", name="one", host="now"):
    return Finding(id=name, level=LEVELS[level], subject=subject, message=f"{level} of {subject}", host=host)


def compared(now, then, *, machine=None):
    return compare(now, Baseline(name="then", host="then", findings=then, machine=machine), "now", {"one", "two"})


def since(now, then, **more):
    return [str(one.since) for one in compared(now, then, **more).findings]


@pytest.mark.parametrize(
    ("now", "then", "since_then"),
    [
        ("W", "W", "same"),
        ("F", "W", "worse"),
        ("W", "I", "worse"),
        ("I", "W", "better"),
        ("W", "U", "unknown"),
        ("U", "U", "same"),
        ("U", "W", "new"),
    ],
)
def test_the_same_subject_is_held_against_itself(now, then, since_then):
    assert since([finding(now)], [finding(then)]) == [since_then]


def test_another_subject_is_new_and_the_old_one_gone():
    found = compared([finding("W", "nic1")], [finding("W", "nic0")])
    assert ([one.since for one in found.findings], [one.subject for one in found.gone]) == ([Since.NEW], ["nic0"])


def test_what_passed_then_is_new_now():
    assert since([finding("W")], [finding("P", "then")]) == ["new"]


def test_what_nobody_could_look_at_then_is_not_called_new():
    found = compared([finding("W")], [finding("U", "then")])
    assert [one.since for one in found.findings] == [Since.UNKNOWN]
    assert not found.counted(Level.WARN)
    assert len(found.counted(Level.UNKNOWN)) == 1


def test_what_nobody_can_look_at_now_is_not_called_gone():
    found = compared([finding("U", "now")], [finding("W")])
    assert (found.gone, [one.subject for one in found.unseen]) == ((), ["nic"])
    assert [one.since for one in found.findings] == [Since.NEW]


@pytest.mark.parametrize("subject", ["nic", "then"])
def test_a_fault_that_is_mended_is_gone(subject):
    found = compared([finding("P", "now")], [finding("W", subject)])
    assert ([one.since for one in found.findings], len(found.gone)) == ([Since.BETTER], 1)


def test_hosts_of_other_names_are_one_subject():
    assert since([finding("W", "now")], [finding("W", "then")]) == ["same"]


def test_a_rule_without_a_word_had_nothing_to_say_on_a_machine_and_may_not_have_been_there_in_a_document():
    machine = Machine(topology=Topology(root=Element(name="system")))
    assert since([finding("W"), finding("P", "now", name="two")], [], machine=machine) == ["new", "same"]
    assert since([finding("W")], []) == ["unknown"]


def test_rules_that_were_not_asked_for_now_are_not_gone():
    found = compared([], [finding("W", name="three")])
    assert (found.gone, found.unseen) == ((), ())


def test_differences_are_new_whatever_an_earlier_comparison_said():
    then = [finding("W", name="slower-than-before")]
    now = [finding("W", name="slower-than-before"), finding("P", "now", name="changed-since")]
    assert since(now, then) == ["new", "same"]
