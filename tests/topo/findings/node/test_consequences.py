# SPDX-License-Identifier: Apache-2.0
"""One fault is one entry: what only follows from another finding of the machine names it, and stands below it."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.command import in_process
from tests.topo.findings.node.cases import capture, case, health, subjects

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.consequences import AFTER_ANY, CAUSES, COMPARING, OF_DEVICE, SAME_FAULT, with_causes
from railgauge.topo.findings.node.rules import check
from railgauge.topo.machine import load_machine
from railgauge.topo.render.findings import consequences, folded_lines

GPU, OTHER, THIRD = "0000:61:00.0", "0000:43:00.0", "0000:83:00.0"


def found(identifier, subject=GPU, level=Level.FAIL, effect="", **evidence):
    message = f"{identifier} of {subject} {evidence}"
    return Finding(id=identifier, level=level, subject=subject, message=message, evidence=evidence, effect=effect)


def xid(code, subject=GPU, level=Level.FAIL):
    return found("gpu-xid", subject, level, xid=code)


def links(count, down_to=None, subject=GPU):
    """A GPU that has some of its twelve NVLinks, and where those lead that are down."""
    level = Level.WARN if count else Level.FAIL
    return found("nvlink-missing", subject, level, count=count, listed=12, **({"down_to": down_to} if down_to else {}))


def causes(*findings):
    """The cause of each: its id, subject and Xid."""
    return [
        (*one.evidence["follows_from"], one.evidence.get("follows_from_xid"))
        if "follows_from" in one.evidence
        else None
        for one in with_causes(findings)
    ]


@pytest.mark.parametrize(
    ("cause", "consequence"),
    [
        (xid(48), found("gpu-memory-errors")),
        (xid(63, level=Level.WARN), found("gpu-row-remap", level=Level.WARN)),
        (xid(74), found("nvlink-errors", level=Level.WARN)),
        (xid(74), found("nvlink-missing")),
        (xid(145), found("nvlink-errors", level=Level.INFO)),
        (xid(79), found("gpu-lost")),
        (xid(13, level=Level.WARN), xid(45, level=Level.INFO)),
        (xid(95), xid(154)),
        (xid(119), found("gpu-recovery-needed")),
        (found("gpu-throttled"), found("gpu-clock-low", level=Level.WARN)),
        (found("nvswitch-sxid", "0000:05:00.0"), found("fabric-not-ready")),
        (found("ib-port-down", "mlx5_3:1"), found("slower-than-before", "mlx5_3 port 1", Level.WARN)),
        (found("ib-port-down", "mlx5_3:1"), found("changed-since", "mlx5_3 port 1", Level.INFO)),
        (links(0), links(8, {GPU: 4}, OTHER)),
        (links(6, {OTHER: 2, THIRD: 4}), links(10, {GPU: 2}, OTHER)),
        (found("gpu-lost"), links(8, {GPU: 4}, OTHER)),
    ],
)
def test_a_consequence_names_its_cause_in_any_order(cause, consequence):
    expected = (cause.id, cause.subject, cause.evidence.get("xid"))
    assert causes(cause, consequence) == [None, expected]
    assert causes(consequence, cause) == [expected, None]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (xid(48), found("gpu-memory-errors", OTHER)),
        (xid(48, OTHER), xid(94)),
        (xid(74), found("gpu-memory-errors")),
        (xid(48), xid(74)),
        (xid(92, level=Level.WARN), found("gpu-memory-errors")),
        (xid(48, level=Level.INFO), found("gpu-memory-errors", level=Level.INFO)),
        (found("nvswitch-sxid", "0000:05:00.0", Level.WARN), found("fabric-not-ready")),
        (found("ib-port-down", "mlx5_3:1"), found("slower-than-before", "mlx5_33 port 1", Level.WARN)),
        (found("slower-than-before", "mlx5_3"), found("changed-since", "mlx5_3", Level.INFO)),
        (links(8, {OTHER: 4}), links(8, {GPU: 4}, OTHER)),
        (links(0), links(6, {GPU: 4, THIRD: 2}, OTHER)),
        (links(0), links(8, {THIRD: 4}, OTHER)),
        (found("gpu-lost"), links(8, {THIRD: 4}, OTHER)),
    ],
)
def test_what_another_device_or_fault_has_stands_for_itself(one, other):
    assert causes(one, other) == [None, None]


def both_ends_down(name, gpu):
    """The NVLinks of a GPU and those of others to it, down."""
    gpus = capture(name).facts["nvml"]["gpus"]
    return {
        f"nvml.gpus.{number}.links.{place}.state": 0
        for number, one in enumerate(gpus)
        for place, link in enumerate(one["links"])
        if number == gpu or link.get("remote") == gpus[gpu]["pci"]
    }


LOUD = (Level.FAIL, Level.WARN, Level.INFO)


def relations():
    """A cause and what may follow from it, for each relation that the tables have."""
    for (identifier, subject), causes_of in CAUSES.items():
        yield from ((found(cause), found(identifier, subject or OTHER)) for cause in causes_of)
    for identifier, (cause, xids) in OF_DEVICE.items():
        yield (xid(min(xids)) if xids else found(cause)), found(identifier)
    for alike in SAME_FAULT:
        if len(alike) > 1:
            yield tuple(xid(code) for code in sorted(alike)[:2])
    yield from ((xid(48), xid(code)) for code in AFTER_ANY)
    yield from ((found("ib-port-down", "mlx5_3:1"), found(one, "mlx5_3 port 1")) for one in COMPARING)
    yield found("nvswitch-sxid", "0000:05:00.0"), found("fabric-not-ready")
    yield replace(links(0), level=Level.FAIL), links(8, {GPU: 4}, OTHER)
    yield found("gpu-lost"), links(8, {GPU: 4}, OTHER)


def heads(*findings):
    """The levels of what stands below nothing, the worst first."""
    told = with_causes(findings)
    below = [id(one) for its in consequences(told).values() for one in its]
    return sorted((one.level for one in told if id(one) not in below), key=LOUD.index)


@pytest.mark.parametrize(("cause", "consequence"), [*relations()], ids=lambda one: one.id)
def test_nothing_stands_below_a_cause_of_a_lower_level(cause, consequence):
    assert heads(consequence, cause) == [Level.FAIL]
    for levels in product(LOUD, LOUD):
        one, other = (replace(each, level=level) for each, level in zip((cause, consequence), levels, strict=True))
        assert heads(other, one)[0] == min(levels, key=LOUD.index)


def related():
    """Findings that have causes in some table, of few devices, at any level: now and then one follows from another."""
    names = sorted({one.id for pair in relations() for one in pair})
    devices = st.sampled_from((GPU, OTHER, "mlx5_3:1", "gpus", "nvlinks", "rate"))
    facts = st.fixed_dictionaries(
        {
            "xid": st.sampled_from((None, 48, 63, 74, 79, 94, 154)),
            "count": st.integers(0, 3),
            "listed": st.just(4),
            "down_to": st.sampled_from(({}, {GPU: 2}, {OTHER: 3}, {GPU: 1, OTHER: 1})),
            "expected_by": st.sampled_from(("--expect", "profile dgx-h100")),
        }
    )
    made = st.builds(
        lambda name, subject, level, evidence: found(name, subject, level, **evidence),
        st.sampled_from(names),
        devices,
        st.sampled_from(LOUD),
        facts,
    )
    return st.lists(made, min_size=1, max_size=8)


@settings(deadline=None, max_examples=200)
@given(related())
def test_a_fail_never_stands_below_anything_less_and_nothing_is_lost(findings):
    cited = with_causes(findings)
    below = consequences(cited)
    for one in cited:
        assert all(LOUD.index(one.level) <= LOUD.index(follower.level) for follower in below.get(id(one), ()))
    worst = min((one.level for one in findings), key=LOUD.index)
    assert heads(*findings)[0] is worst
    lines = ["".join(text for text, _ in line) for line in folded_lines(cited)]
    assert any(line.startswith(worst) for line in lines)


def test_of_two_findings_of_one_device_the_worse_is_the_cause():
    mild, bad = (found("devices-differ", GPU, level) for level in (Level.WARN, Level.FAIL))
    assert heads(found("changed-since", GPU), mild, bad) == [Level.FAIL, Level.WARN]


def test_what_a_profile_expects_in_vain_is_no_less_than_a_fault_of_a_lower_level():
    unmet = found("expectation-unmet", "rate", expected_by="profile dgx-h100")
    assert heads(unmet, found("ib-rate-low", "mlx5_0:1", Level.WARN)) == [Level.FAIL, Level.WARN]
    assert heads(unmet, found("ib-port-down", "mlx5_0:1")) == [Level.FAIL]


def test_a_chain_names_its_first_cause():
    expected = ("gpu-xid", GPU, 79)
    assert causes(found("expectation-unmet", "gpus"), found("gpu-lost"), xid(79)) == [expected, expected, None]


def test_the_prediction_that_is_the_price_of_a_fault_follows_from_it():
    price = "2-node all_reduce 1 GiB: 361 -> 317 GB/s busbw (-12 %)"
    slower = Finding(id="slower-than-before", level=Level.WARN, subject="node", message=f"predicted: {price}")
    assert causes(found("ib-port-down", "mlx5_3:1", effect=price), slower)[1] == ("ib-port-down", "mlx5_3:1", None)
    assert causes(found("ib-port-down", "mlx5_3:1", effect="another"), slower)[1] is None


def test_a_memory_error_of_a_gpu_is_one_entry():
    machine = load_machine("@dgx-h100-xid")
    alarming = [one for one in check(machine) if one.level in ("WARN", "FAIL")]
    heads = [(one.id, one.evidence.get("xid")) for one in alarming if "follows_from" not in one.evidence]
    assert heads == [("gpu-xid", 48)]
    assert {one.id for one in alarming} == {"gpu-xid", "gpu-memory-errors", "gpu-row-remap"}
    shown = in_process("check", "--from", "@dgx-h100-xid").stdout.splitlines()
    assert [line[:15] for line in shown if line.startswith(("FAIL", "WARN"))] == ["FAIL gpu-xid: G"]
    assert sum(line.startswith("    follows: ") for line in shown) == len(alarming) - 1


def test_each_of_two_faults_of_a_gpu_has_its_own_consequences_below_it():
    both = with_causes([xid(48), xid(74), found("nvlink-errors"), found("gpu-memory-errors")])
    heads = [line[0][0] if len(line) == 1 else "".join(text for text, _ in line) for line in folded_lines(both)]
    assert [line.split(": ")[1] if "follows" in line else line.partition(" of")[0] for line in heads[:4]] == [
        "FAIL gpu-xid: gpu-xid",
        "FAIL gpu-memory-errors",
        "FAIL gpu-xid: gpu-xid",
        "FAIL nvlink-errors",
    ]


def test_xids_of_one_fault_on_a_machine():
    lines = [
        f"[    {second}.000000] NVRM: Xid (PCI:0000:61:00): {code}, pid=1, text"
        for second, code in ((5, 63), (6, 94), (7, 74), (8, 45))
    ]
    alarming = [one for one in check(health(*lines)) if one.id == "gpu-xid" and one.level != "PASS"]
    names = {one.evidence["xid"]: one.evidence.get("follows_from_xid") for one in alarming}
    assert names == {94: None, 74: None, 63: 94, 45: 94}


def test_a_port_that_went_down_since_is_one_entry():
    shown = in_process("check", "--from", "@dgx-h100-port-down", "--against", "@dgx-h100").stdout.splitlines()
    assert [line.split(":")[0] for line in shown if line.startswith(("FAIL", "WARN"))] == ["FAIL ib-port-down"]


@pytest.mark.parametrize(("name", "peers"), [("a100-4gpu", 3), ("dgx-1v", 4), ("power9-ac922", 2)])
def test_the_other_ends_of_the_nvlinks_of_a_gpu_that_has_none_are_below_it(name, peers):
    alarming = [one for one in check(case(name, facts=both_ends_down(name, 0))) if one.level in ("WARN", "FAIL")]
    gpu = case(name).facts.gpus[0]
    (head,) = (one for one in alarming if "follows_from" not in one.evidence)
    assert (head.id, head.level, head.subject) == ("nvlink-missing", "FAIL", gpu.bus_id)
    assert head.message == f"0 of {len(gpu.links)} NVLinks are up"
    assert [one.evidence["follows_from"] for one in alarming[1:]] == [["nvlink-missing", gpu.bus_id]] * peers


@pytest.mark.parametrize("name", ["a100-4gpu", "dgx-1v"])
def test_a_gpu_of_a_mesh_without_nvlinks_fails_where_the_driver_does_not_know_their_other_ends(name):
    down = both_ends_down(name, 0)
    unknown = {way.replace(".state", f".{field}"): None for way in down for field in ("remote", "type")}
    bus_id = case(name).facts.gpus[0].bus_id
    assert ("FAIL", bus_id) in subjects("nvlink-missing", case(name, facts=down | unknown))


def test_a_lost_gpu_and_its_xid_are_one_entry():
    line = "[   12.000000] NVRM: Xid (PCI:0000:61:00): 79, pid=1, GPU has fallen off the bus."
    events = health(line).sources.kernel_log
    assert events.events
    lost = case("dgx-h100-gpu-lost", facts={"kernel_log": health(line).reader.facts("kernel_log")})
    heads = [one.id for one in check(lost) if one.level in ("WARN", "FAIL") and "follows_from" not in one.evidence]
    assert heads == ["gpu-xid"]
