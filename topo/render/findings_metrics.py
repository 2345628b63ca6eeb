# SPDX-License-Identifier: Apache-2.0
"""Findings as metrics: OpenMetrics 1.0 text, as a node exporter's textfile collector takes it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from railgauge.topo.findings.finding import LEVELS, Finding, Level
from railgauge.topo.values.printable import printable


def dumps(
    findings: Sequence[Finding],
    host: str,
    time_s: float,
    *,
    rates: Mapping[tuple[str, str], float] = MappingProxyType({}),
    changes: int | None = None,
) -> str:
    """One sample 1 for each finding that is not PASS, how many there are of each level, and when it was looked (Unix).

    Findings that agree in all labels are one sample, since a series may come once only. rates: of error counters a
    second, by device and counter; changes: of findings since a watch began, None without one.
    """
    counts = Counter(finding.level for finding in findings)
    told = dict.fromkeys(
        (finding.id, str(finding.level), finding.subject, finding.host or host)
        for finding in findings
        if finding.level != "PASS"
    )
    lines = ["# TYPE railgauge_finding gauge", "# HELP railgauge_finding Findings of railgauge check; 1 for each."]
    lines += [
        sample("railgauge_finding", {"id": name, "level": level, "subject": subject, "host": where}, 1)
        for name, level, subject, where in told
    ]
    lines += ["# TYPE railgauge_findings gauge", "# HELP railgauge_findings Number of findings of a level."]
    lines += [sample("railgauge_findings", {"level": level, "host": host}, counts[level]) for level in LEVELS]
    lines += [
        "# TYPE railgauge_check_time_seconds gauge",
        "# UNIT railgauge_check_time_seconds seconds",
        "# HELP railgauge_check_time_seconds When railgauge check ran, as Unix time.",
        sample("railgauge_check_time_seconds", {"host": host}, time_s),
    ]
    if rates:
        lines += [
            "# TYPE railgauge_errors_per_second gauge",
            "# HELP railgauge_errors_per_second Rates of error counters since the check before.",
        ]
        lines += [
            sample("railgauge_errors_per_second", {"device": device, "counter": name, "host": host}, rate)
            for (device, name), rate in sorted(rates.items())
        ]
    if changes is not None:
        lines += [
            "# TYPE railgauge_finding_changes gauge",
            "# HELP railgauge_finding_changes Changes of findings since the watch began.",
        ]
        lines += [sample("railgauge_finding_changes", {"host": host}, changes)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def cluster_metrics(
    findings: Sequence[Finding], nodes: Sequence[str], verdicts: Mapping[str, int], time_s: float
) -> str:
    """The same of many nodes, by their names as `host`; and how many nodes have each verdict."""
    told = dict.fromkeys(
        (one.id, str(one.level), one.subject, one.host) for one in findings if one.level is not Level.PASS
    )
    counts = Counter((one.level, one.host) for one in findings)
    lines = ["# TYPE railgauge_finding gauge", "# HELP railgauge_finding Findings of railgauge check; 1 for each."]
    lines += [
        sample("railgauge_finding", {"id": name, "level": level, "subject": subject, "host": where}, 1)
        for name, level, subject, where in told
    ]
    lines += ["# TYPE railgauge_findings gauge", "# HELP railgauge_findings Number of findings of a level."]
    lines += [
        sample("railgauge_findings", {"level": level, "host": node}, counts[level, node])
        for node in nodes
        for level in LEVELS
    ]
    lines += ["# TYPE railgauge_cluster_nodes gauge", "# HELP railgauge_cluster_nodes Number of nodes with a verdict."]
    lines += [sample("railgauge_cluster_nodes", {"verdict": name}, verdicts[name]) for name in sorted(verdicts)]
    lines += [
        "# TYPE railgauge_check_time_seconds gauge",
        "# UNIT railgauge_check_time_seconds seconds",
        "# HELP railgauge_check_time_seconds When railgauge check ran, as Unix time.",
        sample("railgauge_check_time_seconds", {}, time_s),
    ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """One sample in OpenMetrics text, its labels escaped."""
    inside = ",".join(f'{key}="{_escaped(str(text))}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value}"


def _escaped(text: str) -> str:
    """A label's value: backslash, double quote and line feed are escaped, all else that is printable is UTF-8."""
    return printable(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
