# SPDX-License-Identifier: Apache-2.0
"""The JSON document of an interrupted (Ctrl-C) command that looks for findings: it says so and has no findings."""

from railgauge.cli.output import document, print_json
from railgauge.topo.errors import INTERRUPTED


def tell(command: str, args: list[str]) -> None:
    """Print the document if --json is given; `run` and `link` report by themselves how far they got."""
    if "--json" not in args:
        return
    if command in ("check", "gdr") or (command, args[0]) == ("cluster", "check"):
        print_json(document("findings", "", status=INTERRUPTED, findings=[]))
    elif (command, args[0]) == ("cluster", "dump"):
        from railgauge.topo.findings.cluster.comparison import compare
        from railgauge.topo.render.cluster import cluster_document

        print_json(document("cluster", "", status=INTERRUPTED, **cluster_document(compare([], []))))
