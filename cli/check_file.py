# SPDX-License-Identifier: Apache-2.0
"""`check -o FILE`: the findings in the format of the file's suffix."""

import os
import time
from collections.abc import Sequence
from typing import Any

from railgauge.cli.output import document, json_text, write_text
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.findings import Finding
from railgauge.topo.rules.case import Case

SUFFIXES = (".html", ".json", ".prom")


def check_suffix(path: str) -> str:
    """The suffix of a file; UsageError when it stands for no format."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"-o is {path!r}: its suffix is the format, one of {', '.join(SUFFIXES)}")
    return suffix


def findings_document(host: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """The document railgauge/findings/1."""
    return document("findings", host, findings=[finding.record() for finding in findings])


def write_findings(path: str, case: Case, findings: Sequence[Finding], name: str) -> None:
    """Write the findings; `name` is the machine's where it has none of its own."""
    suffix = check_suffix(path)
    if suffix == ".json":
        write_text(path, json_text(findings_document(case.host, findings)) + "\n")
    elif suffix == ".prom":
        from railgauge.topo.render.findings_metrics import dumps

        write_text(path, dumps(findings, case.host, round(time.time(), 3)))
    else:
        write_text(path, _page(case, findings, name))


def _page(case: Case, findings: Sequence[Finding], name: str) -> str:
    from railgauge.topo.render.matrix import matrix
    from railgauge.topo.render.picture import page
    from railgauge.topo.render.picture.from_system import picture

    topology, inventory = case.machine.topology, case.inventory
    try:
        drawn = picture(case.system, topology, inventory, name=case.host or name)
    except InputError:  # a file that contradicts itself, which the findings tell
        return page.without_picture(case.host or name, findings)
    return page.dumps(drawn, matrix(case.system, topology, inventory), case.machine.warnings, findings)
