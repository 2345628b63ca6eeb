# SPDX-License-Identifier: Apache-2.0
"""The machine that a table's heading names ("Using devices"), where that leaves no choice."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from railgauge.topo.jobs.judge.forecasts import Forecasts
from railgauge.topo.jobs.judge.job_fabric import JobFabric
from railgauge.topo.jobs.judge.judge import judge
from railgauge.topo.jobs.judge.judged_table import JudgedTable
from railgauge.topo.jobs.judge.measured_run import NOTHING
from railgauge.topo.jobs.tables.table import MeasuredTable
from railgauge.topo.machine import Machine, load_machine

BOARDS = {
    ("V100-SXM2", 8): "dgx-1v",
    ("V100-SXM3", 16): "dgx-2",
    ("A100-SXM4", 8): "dgx-a100",
    ("H100", 8): "dgx-h100",
    ("H200", 8): "dgx-h100",
}
"""GPUs of a host, and the fixture whose NVLinks are theirs; NVIDIA's HGX boards of eight have one form each. Boards of
four come in several.
"""
PRODUCT = re.compile(r"\b(V100-SXM[23]|A100-SXM4|H[12]00)\b(?! NVL| PCIe)")
NAME_IT = "name it with --from: live, a capture, or a fixture (railgauge machines)"


def named_machine(table: MeasuredTable) -> tuple[str, str]:
    """The fixture ("" without one), and why there is none."""
    if not table.devices:
        return "", f"the table does not say which machine it is from: {NAME_IT}"
    products = {one.gpu for one in table.devices}
    hosts = Counter(one.host for one in table.devices)
    if len(products) > 1 or len(set(hosts.values())) > 1:
        return "", f"hosts or GPUs of the table differ: {NAME_IT}"
    gpu, count = products.pop(), next(iter(hosts.values()))
    if len(hosts) > 1:
        return "", f"{len(hosts)} hosts with {count} x {gpu}, and the table does not name their NICs: {NAME_IT}"
    found = PRODUCT.search(gpu)
    name = BOARDS.get((found[1], count), "") if found else ""
    return name, "" if name else f"{count} x {gpu} come in several machines: {NAME_IT}"


class TableJudge:
    """Judges the tables of a job beside a machine, or without one beside those that their headings name.

    settings and in_force: as `judge` takes them. symmetric: all tables are of symmetric windows, whatever they say.
    fabric: what is between the nodes.
    """

    def __init__(
        self,
        machine: Machine | None,
        *,
        settings: Mapping[str, str] = NOTHING,
        in_force: Mapping[str, str] | None = None,
        symmetric: bool = False,
        fabric: JobFabric | None = None,
    ) -> None:
        self._machine = Forecasts(machine, fabric) if machine else None
        self._named = cache(lambda name: Forecasts(load_machine(f"@{name}"), fabric))
        self._settings, self._in_force, self._symmetric = settings, in_force, symmetric

    def judge(self, table: MeasuredTable, nodes: int = 0) -> JudgedTable:
        """Judge one table, of that many nodes (0: as it says)."""
        table = replace(table, symmetric=table.symmetric or self._symmetric)
        beside, why = self._machine, ""
        if beside is None:
            name, why = named_machine(table)
            beside = self._named(name) if name else None
        machine = beside.machine if beside else None
        return judge(table, machine, why, nodes, self._settings, self._in_force, beside)
