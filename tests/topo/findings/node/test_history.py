# SPDX-License-Identifier: Apache-2.0
"""What changes from one check of a node to the next."""

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.history import FLAPS, MOST, MOST_FLAPS, WITHIN_S, FindingHistory


def finding(level, name="ib-port-down", subject="mlx5_0:1"):
    return Finding(id=name, level=level, subject=subject, message="as it is")


def changes(history, *findings, now_s=0.0):
    return [(str(event.transition), event.finding.subject) for event in history.events(findings, now_s)]


def test_all_is_new_at_first_and_then_only_changes():
    history = FindingHistory()
    assert changes(history, finding(Level.WARN), finding(Level.PASS, "acs-enabled")) == [("new", "mlx5_0:1")]
    assert changes(history, finding(Level.WARN)) == []
    assert changes(history, finding(Level.FAIL)) == [("worse", "mlx5_0:1")]
    assert changes(history, finding(Level.INFO)) == [("better", "mlx5_0:1")]
    assert changes(history, finding(Level.PASS)) == [("gone", "mlx5_0:1")]
    assert changes(history, finding(Level.PASS)) == []
    assert history.total == 4


def test_what_cannot_be_read_is_not_gone():
    history = FindingHistory()
    blind = finding(Level.UNKNOWN, subject="gpu-03")
    changes(history, finding(Level.WARN))
    assert changes(history, blind) == [("unknown", "mlx5_0:1")]
    assert changes(history, blind) == []
    assert changes(history, finding(Level.WARN)) == []
    changes(history, blind)
    assert changes(history, finding(Level.PASS)) == [("gone", "mlx5_0:1")]


def test_what_is_repaired_is_gone_though_another_device_cannot_be_read():
    history = FindingHistory()
    blind = finding(Level.UNKNOWN, subject="mlx5_7:1")
    changes(history, finding(Level.WARN), blind)
    assert changes(history, blind) == [("gone", "mlx5_0:1")]
    assert changes(history, finding(Level.WARN), blind) == [("new", "mlx5_0:1")]
    assert changes(history, blind, finding(Level.UNKNOWN, subject="gpu-03")) == [("unknown", "mlx5_0:1")]
    assert changes(history, blind, finding(Level.UNKNOWN, subject="gpu-03")) == []


def test_the_worst_comes_first():
    history = FindingHistory()
    found = [finding(Level.INFO, subject="a"), finding(Level.FAIL, subject="b"), finding(Level.WARN, subject="c")]
    assert [subject for _, subject in changes(history, *found)] == ["b", "c", "a"]


def test_a_finding_that_comes_and_goes_is_counted():
    history = FindingHistory()
    seen = []
    for look in range(FLAPS + 1):
        found = [finding(Level.WARN)] if look % 2 == 0 else []
        seen += [event.flaps for event in history.events(found, now_s=float(look))]
    assert seen == [0] * (FLAPS - 1) + [FLAPS, FLAPS + 1]
    (late,) = history.events([] if FLAPS % 2 == 0 else [finding(Level.WARN)], now_s=WITHIN_S * 3)
    assert late.flaps == 0


def test_memory_is_bounded():
    history = FindingHistory()
    for look in range(3):
        history.events([finding(Level.WARN, subject=f"{look}-{n}") for n in range(MOST)], float(look))
    assert len(history.changed) == len(history.last) == MOST
    for look in range(9):  # each time another id cannot be read
        history.events([finding(Level.UNKNOWN, f"id-{look}")], 4.0)
        history.events([finding(Level.WARN, f"id-{look + 1}", f"{n}") for n in range(MOST)], 5.0)
        assert len(history.last) <= 2 * MOST


def test_changes_are_counted_up_to_a_limit():
    history = FindingHistory()
    flaps = [history.events([finding(Level.WARN)] * (look % 2), 1.0) for look in range(1, 2 * MOST_FLAPS)]
    assert [event.flaps for (event,) in flaps] == [0] * (FLAPS - 1) + [
        min(number, MOST_FLAPS) for number in range(FLAPS, 2 * MOST_FLAPS)
    ]
