# SPDX-License-Identifier: Apache-2.0
"""`railgauge link [A B]`: measures bandwidth and latency between ranks or GPUs, and compares the links."""

from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn
from railgauge.cli.link.gpus import measure, takes_gpus
from railgauge.cli.link.options import (
    BYTES_HELP,
    GPU_BYTES,
    HOST_BYTES,
    HOW,
    WHAT,
    AsJson,
    Bisect,
    FaultOption,
    Iterations,
    LatencyBytes,
    MinGbps,
    OneAtATime,
    Output,
    Timeout,
    Transport,
    least_gb_per_s,
    link_job,
)
from railgauge.cli.link.start import LinkAnswer, start
from railgauge.cli.ranks_command import RanksCommand, SaveCapture, argument, option
from railgauge.cli.ranks_start import Start
from railgauge.collectives.device import AUTO
from railgauge.collectives.launch.launch import NAMES
from railgauge.collectives.link.tournament import Pair
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
BYTES_TEXT = f"{HOST_BYTES}; between GPUs {GPU_BYTES}"
RANKS, PLACE = "Ranks to start", "Place of a process that another launcher started"


@app.command(cls=RanksCommand)
def link(
    ctx: typer.Context,
    a: Annotated[int | None, argument(WHAT, "only the link between this rank or GPU", metavar="A")] = None,
    b: Annotated[int | None, argument(WHAT, "and this one", metavar="B")] = None,
    device: Annotated[str, option(WHAT, "--device", help="auto, cpu (ranks) or cuda (GPUs of this host)")] = AUTO,
    transport: Transport = "",
    size: Annotated[str, option(HOW, "-b", "--bytes", show_default=BYTES_TEXT, help=BYTES_HELP)] = "",
    latency_size: LatencyBytes = "8",
    iterations: Iterations = 20,
    one_at_a_time: OneAtATime = False,
    bisect: Bisect = False,
    timeout: Timeout = 60.0,
    fault: FaultOption = "",
    min_gbps: MinGbps = None,
    fail_on: FailOn = Level.FAIL,
    ranks: Annotated[int | None, option(RANKS, "--ranks", "-np", min=1, help="start this many ranks")] = None,
    launcher: Annotated[str, option(RANKS, "--launcher", help=f"how to start them: {', '.join(NAMES)}")] = "",
    hostfile: Annotated[str, option(RANKS, "--hostfile", help="the hosts: an Open MPI or MPICH hostfile")] = "",
    hosts: Annotated[str, option(RANKS, "--hosts", help="the hosts: gpu[01-04] or gpu01:8,gpu02:8")] = "",
    variables: Annotated[list[str] | None, option(RANKS, "-x", help="NAME[=VALUE]: set it for all ranks")] = None,
    dry_run: Annotated[bool, option(RANKS, "--dry-run", help="print the commands that would start them")] = False,
    init_method: Annotated[str, option(PLACE, "--init-method", help="env://, tcp://HOST:PORT or file:///PATH")] = "",
    rank: Annotated[int | None, option(PLACE, "--rank", min=0, help="number of this process")] = None,
    world_size: Annotated[int | None, option(PLACE, "--world-size", min=1, help="number of processes")] = None,
    local_rank: Annotated[int | None, option(PLACE, "--local-rank", min=0, help="its number on its host")] = None,
    save: SaveCapture = None,
    output: Output = None,
    as_json: AsJson = False,
) -> int:
    """Measure bandwidth and latency between all ranks or GPUs, or A and B, and name the slow link, rank or GPU."""
    asked = Start(
        ranks=ranks,
        launcher=launcher or None,
        hostfile=hostfile or None,
        hosts=hosts or None,
        variables=variables or [],
        dry_run=dry_run,
        init_method=init_method or None,
        rank=rank,
        world_size=world_size,
        local_rank=local_rank,
        for_ranks=ctx.obj,
        command="link",
    )
    of_gpus = takes_gpus(device, asked)
    job = link_job(
        gpus=of_gpus,
        size=size or (GPU_BYTES if of_gpus else HOST_BYTES),
        latency_size=latency_size,
        iterations=iterations,
        timeout_s=timeout,
        transport=transport,
        pair=pair_of(a, b),
        one_at_a_time=one_at_a_time,
        bisect=bisect,
        fault=fault,
        save_capture=save,
    )
    answer = LinkAnswer(json=as_json, files=tuple(output or ()), min_gb_per_s=least_gb_per_s(min_gbps), fail_on=fail_on)
    return measure(job, answer) if of_gpus else start(job, asked, answer)


def pair_of(a: int | None, b: int | None) -> Pair | None:
    """Two ranks, the lower one first; None if none is named.

    Raises:
        UsageError: only one is named, one is negative, or both are the same.
    """
    if a is None:
        return None
    if b is None or a == b or min(a, b) < 0:
        raise UsageError(f"name two different ranks or GPUs, counted from 0: link {a} OTHER")
    return min(a, b), max(a, b)
