# SPDX-License-Identifier: Apache-2.0
"""`railgauge link [A B]`: measures bandwidth and latency between ranks or GPUs, and compares the links."""

from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn
from railgauge.cli.help.command import app_of, option
from railgauge.cli.link.gpus import measure, takes_gpus
from railgauge.cli.link.options import (
    GPU_BYTES,
    HOST_BYTES,
    HOW,
    Against,
    Bisect,
    Bytes,
    Iterations,
    LatencyBytes,
    MinGbps,
    OneAtATime,
    Output,
    Timeout,
    Transport,
    against_of,
    least_gb_per_s,
    link_job,
)
from railgauge.cli.link.start import LinkAnswer, start
from railgauge.cli.machine_options import Json
from railgauge.cli.ranks_command import (
    DryRun,
    Fault,
    Hostfile,
    Hosts,
    InitMethod,
    Launcher,
    LocalRank,
    Rank,
    RanksCommand,
    RanksToStart,
    SaveCapture,
    Variables,
    WorldSize,
)
from railgauge.cli.ranks_start import Start
from railgauge.collectives.device import AUTO
from railgauge.collectives.link.tournament import Pair
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level


def link(
    ctx: typer.Context,
    a: Annotated[
        int | None, typer.Argument(metavar="A", help="A rank or GPU: measure only the link between it and B.")
    ] = None,
    b: Annotated[int | None, typer.Argument(metavar="B", help="The rank or GPU at the other end.")] = None,
    device: Annotated[
        str, option(HOW, "--device", metavar="auto|cpu|cuda", help="cpu measures ranks, cuda the GPUs of this host.")
    ] = AUTO,
    transport: Transport = "",
    size: Bytes = "",
    latency_size: LatencyBytes = "8",
    iterations: Iterations = 20,
    one_at_a_time: OneAtATime = False,
    bisect: Bisect = False,
    timeout: Timeout = 60.0,
    fault: Fault = "",
    min_gbps: MinGbps = None,
    against: Against = None,
    fail_on: FailOn = Level.WARN,
    ranks: RanksToStart = None,
    launcher: Launcher = "",
    hostfile: Hostfile = "",
    hosts: Hosts = "",
    variables: Variables = None,
    dry_run: DryRun = False,
    init_method: InitMethod = "",
    rank: Rank = None,
    world_size: WorldSize = None,
    local_rank: LocalRank = None,
    save: SaveCapture = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Measure bandwidth and latency between all ranks or GPUs, or A and B, and name the slow link, rank or GPU.

    Examples:
        railgauge link
        railgauge link 0 3 --transport SHM
        railgauge link --device cpu --ranks 4
    """
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
    answer = LinkAnswer(
        json=as_json,
        files=tuple(output or ()),
        min_gb_per_s=least_gb_per_s(min_gbps),
        against=against_of(against, bisect=bisect),
        fail_on=fail_on,
    )
    return measure(job, answer) if of_gpus else start(job, asked, answer)


app = app_of(link, RanksCommand)


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
