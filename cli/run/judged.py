# SPDX-License-Identifier: Apache-2.0
"""What a run between GPUs reached, beside what NCCL is forecast to reach on such machines."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railgauge.collectives.device import Device
from railgauge.collectives.document import RunDocument
from railgauge.collectives.engine import Engine
from railgauge.collectives.job import Job
from railgauge.topo.errors import Error
from railgauge.topo.findings.finding import Level, at_or_above
from railgauge.topo.values.printable import printable

if TYPE_CHECKING:
    from railgauge.topo.jobs.judge.judged_table import JudgedTable

SYMMETRIC = 2
"""Of -R: NCCL runs on symmetric windows."""


def judged(document: RunDocument, job: Job) -> "JudgedTable | None":
    """The verdict beside the machine of rank 0: all are taken to be equal. None in host memory, and for one rank."""
    if document.device != Device.CUDA or document.ranks < 2 or not document.rows:
        return None
    from railgauge.collectives.table_result import table_of
    from railgauge.topo.jobs.judge.judge import judge
    from railgauge.topo.machine import load_machine

    machine, why = None, ""
    try:
        machine = load_machine(tolerant=True)
    except Error as error:
        why = str(error)
    symmetric = job.engine is Engine.NCCL and job.register == SYMMETRIC
    table = replace(table_of(document), symmetric=symmetric, iterations=job.iterations, warmup=job.warmup)
    return judge(table, machine, why, document.nodes)


def fails(found: "JudgedTable | None", level: Level) -> bool:
    """Whether a finding is at the level or worse. Few iterations (-n) were asked for: no verdict rests on them."""
    if found is None:
        return False
    from railgauge.topo.findings.cards.measured import TOO_FEW_ITERATIONS

    is_noise = any(one.id == TOO_FEW_ITERATIONS.id for one in found.findings)
    return not is_noise and bool(at_or_above(found.findings, level))


def lines(found: "JudgedTable") -> list[str]:
    """Comments below the table: the figure beside the forecast, and what is wrong."""
    from railgauge.topo.render.judge import reached_text

    told = [f"{one.level} {one.id}: {one.message}" for one in found.findings if one.level is not Level.PASS]
    return [printable(f"# {text}") for text in (reached_text(found), *told) if text]


def content(found: "JudgedTable") -> dict[str, Any]:
    """The same for the document."""
    from railgauge.topo.render.judge import judge_document

    return judge_document([found])
