# SPDX-License-Identifier: Apache-2.0
"""`cluster check -o FILE`: the answer in the format of the file's suffix."""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from railgauge.cli.json_text import json_text
from railgauge.cli.output import check_folders, write_text
from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from railgauge.topo.render.cluster_check import ClusterAnswer

SUFFIXES = (".html", ".prom", ".csv", ".json")


def folder_and_files(outputs: Sequence[str]) -> tuple[str | None, list[str]]:
    """The folder that keeps the nodes' files, and the reports to write.

    UsageError for two folders or two files of one format, UnavailableError if there is no folder for a file.
    """
    files = [path for path in outputs if _suffix(path) in SUFFIXES]
    folders = [path for path in outputs if path not in files]
    if len(folders) > 1 or len({_suffix(path) for path in files}) < len(files):
        raise UsageError(f"-o: give one folder and one file of each format ({', '.join(SUFFIXES)})")
    check_folders(files)
    return next(iter(folders), None), files


def write_reports(paths: Sequence[str], answer: "ClusterAnswer", content: dict[str, Any]) -> None:
    """Write each file; `content` is the JSON document."""
    for path in paths:
        write_text(path, _text(_suffix(path), answer, content))


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _text(suffix: str, answer: "ClusterAnswer", content: dict[str, Any]) -> str:
    if suffix == ".json":
        return json_text(content) + "\n"
    if suffix == ".csv":
        from railgauge.topo.render.cluster_check import csv_text

        return csv_text(answer)
    if suffix == ".prom":
        from railgauge.topo.render.cluster_check import metric_findings, verdict_counts
        from railgauge.topo.render.findings_metrics import cluster_metrics

        return cluster_metrics(metric_findings(answer), answer.nodes, verdict_counts(answer), round(time.time(), 3))
    from railgauge.topo.render.cluster_page import cluster_page

    return cluster_page(answer, str(content["time"]))
