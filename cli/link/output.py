# SPDX-License-Identifier: Apache-2.0
"""What `railgauge link` prints and writes: matrices, a summary and findings, or a document; and its exit status."""

import socket
import sys
from collections.abc import Sequence

from railgauge.cli.findings_output import print_findings
from railgauge.cli.findings_status import FOUND
from railgauge.cli.json_text import json_text
from railgauge.cli.link.start import LinkAnswer
from railgauge.cli.output import document, print_json, print_lines, terminal_width, write_text
from railgauge.cli.streams import tell
from railgauge.collectives.launch.tether import command_line
from railgauge.collectives.link.expected import OlderLinks
from railgauge.collectives.link.judgement import judge
from railgauge.collectives.link.link_result import LinkResult
from railgauge.collectives.report.link import csv_text, directions, link_document, link_lines
from railgauge.topo.errors import INTERNAL, Error, described, status_of
from railgauge.topo.findings.cards.links import SLOW_LINK
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import Finding, at_or_above
from railgauge.topo.render.palette import line


def finish(result: LinkResult, error: BaseException | None, answer: LinkAnswer, older: OlderLinks | None = None) -> int:
    """Print and write what was measured; return the exit status."""
    findings = guarded(SLOW_LINK.id, "all", lambda: judge(result, older))
    broken = next((one.message for one in findings if one.error), None)
    unmet = [] if error else unmet_demands(result, answer.min_gb_per_s)
    result.error = described(error) if error else "; ".join(unmet) or broken
    content = document("link", socket.gethostname(), command=command_line(), **link_document(result, findings))
    saved = True
    for path in answer.files:
        try:
            write_text(path, json_text(content) + "\n" if path.lower().endswith(".json") else csv_text(result))
        except Error as problem:
            tell(f"railgauge link: {problem}")
            saved = False
    if answer.json:
        print_json(content)
    elif result.links or result.bisection:
        _print(result, findings)
    sys.stdout.flush()
    if result.error:
        tell(f"railgauge link: {result.error}")
    found = FOUND if at_or_above(findings, answer.fail_on) else 0
    if broken:
        return INTERNAL
    return 4 if unmet else status_of(error) or (0 if saved else 3) or found


def unmet_demands(result: LinkResult, min_gb_per_s: float | None) -> list[str]:
    """The requirement that links did not meet: the slowest link, and how many are too slow."""
    if min_gb_per_s is None:
        return []
    if result.bisection:
        speeds = [(half.gb_per_s, f"the ring of {len(half.ranks)}") for step in result.bisection.steps for half in step]
    else:
        speeds = [
            (entry["gb_per_s"], f"{entry['via']} from {result.name(entry['from'])} to {result.name(entry['to'])}")
            for link in result.links
            for entry in directions(link)
        ]
    slow = sorted(each for each in speeds if each[0] < min_gb_per_s)
    if not slow:
        return []
    more = f"; {len(slow) - 1} more of {len(speeds)} are too slow" if len(slow) > 1 else ""
    return [f"{slow[0][1]} reaches {slow[0][0] * 8:.3g} Gb/s, below the required {min_gb_per_s * 8:g} Gb/s{more}"]


def _print(result: LinkResult, findings: Sequence[Finding]) -> None:
    print_lines([*link_lines(result, findings, terminal_width()), line("")])
    print_findings(findings)
