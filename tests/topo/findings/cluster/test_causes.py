# SPDX-License-Identifier: Apache-2.0
"""Findings of a cluster by cause: what only follows from another finding of the same node stands below it."""

from railgauge.topo.findings.cluster.causes import by_cause, worst_of
from railgauge.topo.findings.cluster.folding import of_nodes
from railgauge.topo.findings.finding import Finding, Level

DOWN = ("ib-port-down", "mlx5_3:1", "state DOWN")


def found(nodes, identifier, subject, message, level=Level.WARN, **evidence):
    return of_nodes(
        Finding(id=identifier, level=level, subject=subject, message=message, evidence=evidence), nodes.split()
    )


def differs(nodes, subject, message, what="state", identifier="nodes-differ"):
    return found(nodes, identifier, subject, message, what=what, votes=7, of=8)


def shown(*findings):
    return [
        (cause.found.finding.id, cause.found.names, [(one.finding.message, one.names) for one in cause.consequences])
        for cause in by_cause(findings)
    ]


def test_what_differs_about_a_port_that_is_down_follows_from_it():
    other = differs("gpu1 gpu2", "0000:40:00.0 port 1", "mlx5_3 port 1: Down, 7 of 8 nodes Active")
    assert shown(found("gpu1", *DOWN), other) == [
        ("ib-port-down", ("gpu1",), [(other.finding.message, ("gpu1",))]),
        ("nodes-differ", ("gpu2",), []),
    ]


def test_another_device_stands_for_itself():
    other = differs("gpu1", "0000:41:00.0 port 1", "mlx5_33 port 1: Down, 7 of 8 nodes Active")
    assert [one[2] for one in shown(found("gpu1", *DOWN), other)] == [[], []]


def test_paths_follow_from_the_gpu_that_is_missing_and_in_the_end_from_its_loss():
    lost = found("gpu1", "gpu-gone", "0000:61:00.0", "is on PCI but not in NVML", Level.FAIL)
    missing = differs("gpu1", "0000:61:00.0", "GPU3 (0000:61:00.0) is missing, 7 of 8 nodes have it", "presence")
    path = differs("gpu1", "GPU4 - mlx5_6", "GPU4 - mlx5_6: SYS, 7 of 8 nodes PIX", "path type")
    named = found("gpu1", "gpu-lost", "GPU below 0000:5c:00.0", "not on PCI", Level.FAIL)
    assert [(one[0], len(one[2])) for one in shown(named, missing, path)] == [("gpu-lost", 2)]
    assert [(one[0], len(one[2])) for one in shown(missing, path)] == [("nodes-differ", 1)]
    assert [(one[0], len(one[2])) for one in shown(lost, missing, path)] == [("gpu-gone", 2)]
    assert [one[0] for one in shown(path)] == ["nodes-differ"]


def test_no_difference_stands_below_a_finding_of_a_lower_level():
    other = differs("gpu1", "0000:40:00.0 port 1", "mlx5_3 port 1: 100, 7 of 8 nodes 400", "rate")
    assert [one[0] for one in shown(found("gpu1", "mtu-mismatch", "mlx5_3:1", "m", Level.INFO), other)] == [
        "mtu-mismatch",
        "nodes-differ",
    ]
    assert [one[0] for one in shown(found("gpu1", "ib-rate-low", "mlx5_3:1", "100"), other)] == ["ib-rate-low"]


def test_a_fact_without_a_majority_concerns_all_its_nodes():
    split = found("", "nodes-differ", "x", "x: 1 on a, 2 on b", values={"1": ["a"], "2": ["b"]})
    assert set(worst_of(by_cause([split]))) == {"a", "b"}


def test_the_worst_cause_of_a_node_is_first_and_what_is_only_info_is_no_fault():
    findings = [
        found("gpu1 gpu2", "mtu-mismatch", "mlx5_0", "m", Level.INFO),
        found("gpu1", *DOWN),
        found("gpu1", "gpu-gone", "GPU3", "gone", Level.FAIL),
    ]
    assert {name: [one.id for one in its] for name, its in worst_of(by_cause(findings)).items()} == {
        "gpu1": ["gpu-gone", "ib-port-down"]
    }
