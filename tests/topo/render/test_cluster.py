# SPDX-License-Identifier: Apache-2.0
"""The lines of a comparison: short for many nodes, the odd ones beside what is odd, and nothing lost unsaid."""

from railgauge.topo.findings.cluster.folder import Unread
from railgauge.topo.findings.cluster.report import DesignGroup, FactDifference, Report, Split, Subject
from railgauge.topo.render.cluster import report_lines
from railgauge.topo.render.palette import text_of


def nic(number):
    return Subject(id=f"0000:{number:02x}:00.0", label=f"NIC mlx5_{number} (0000:{number:02x}:00.0)", kind="NIC")


def odd(nodes, subject=None, what="width", value="x8", majority="x16"):
    subject = subject or nic(3)
    return FactDifference(nodes=nodes, subject=subject, what=what, value=value, majority=majority, votes=63, of=64)


def text(*differences, splits=(), unread=(), count=64, equal=None, width=None):
    nodes = tuple(f"gpu{number:03}" for number in range(1, count + 1))
    group = DesignGroup(
        nodes=nodes, description="8 x H100", equal=equal or (nodes,), differences=differences, splits=splits
    )
    report = Report(groups=(group,), unread=unread, warnings=())
    return [text_of(line) for line in report_lines(report, width)]


def test_equal_nodes_are_three_lines():
    assert text() == ["64 nodes read", "gpu[001-064]: 8 x H100", "  all 64 are equal"]


def test_odd_nodes_stand_beside_what_is_odd():
    equal = (tuple(f"gpu{number:03}" for number in range(4, 65)), ("gpu001",), ("gpu002", "gpu003"))
    host = Subject(id="host", label="", kind="host")
    lines = text(odd(("gpu001",)), odd(("gpu002", "gpu003"), host, "driver", "550.54.15", "550.90.07"), equal=equal)
    assert lines[2:] == [
        "  61 of 64 are equal",
        "  gpu001        NIC mlx5_3 (0000:03:00.0): x8, 63 of 64 nodes x16",
        "  gpu[002-003]  driver 550.54.15, 63 of 64 nodes 550.90.07",
    ]


def test_the_same_in_several_devices_is_one_line():
    lines = text(*(odd(("gpu001",), nic(number), "firmware", "28.40", "28.39") for number in range(12)))
    assert lines[3:] == ["  gpu001  NIC mlx5_0 (0000:00:00.0) and 11 more: firmware 28.40, 63 of 64 nodes 28.39"]


def test_things_that_are_missing_or_too_many():
    lines = text(
        odd(("gpu001",), nic(1), "presence", None, "present"),
        odd(("gpu002",), nic(2), "presence", "present", None),
        odd(("gpu004",), nic(3), "id", "0000:99:00.0", "0000:03:00.0"),
    )
    assert [line.split("  ")[-1] for line in lines[3:]] == [
        "NIC mlx5_1 (0000:01:00.0) is missing, 63 of 64 nodes have it",
        "NIC mlx5_2 (0000:02:00.0) is present, 63 of 64 nodes do not have it",
        "NIC mlx5_3 (0000:03:00.0): is at 0000:99:00.0, 63 of 64 nodes 0000:03:00.0",
    ]


def test_a_node_that_differs_in_everything_does_not_fill_the_screen():
    lines = text(*(odd(("gpu001",), nic(number), "firmware", str(number), "28.39") for number in range(200)))
    assert len(lines) == 3 + 13
    assert lines[-1].strip() == "and 188 more (--json has all)"


def test_what_is_not_agreed_on_is_told_with_all_camps():
    split = Split(
        subject=nic(3), what="firmware", groups=(("28.39", ("a1", "a2")), ("28.40", ("b1", "b2")), (None, ("c",)))
    )
    assert text(splits=(split,))[3:] == [
        "  no majority:",
        "    NIC mlx5_3 (0000:03:00.0): firmware 28.39 on a[1-2], 28.40 on b[1-2], unknown on c",
    ]


def test_nodes_that_were_not_read_are_folded_by_reason():
    unread = tuple(Unread(name=f"gpu{number}", reason="refused" if number < 9 else "slow") for number in range(7, 10))
    assert text(unread=unread)[0] == "64 nodes read, 3 not"
    assert text(unread=unread)[-2:] == ["  gpu[7-8]  refused", "  gpu9      slow"]
