# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster link: measures bandwidth and latency between nodes, one rank on each; names the slow one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.cluster.nodes import hosts
from railgauge.cli.cluster.options import Hostfile, Nodes
from railgauge.cli.findings_output import FailOn
from railgauge.cli.help.command import option
from railgauge.cli.link.options import (
    HOST_BYTES,
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
from railgauge.cli.ranks_command import RANKS, DryRun, Fault, SaveCapture, Variables
from railgauge.cli.ranks_start import Start
from railgauge.collectives.link.tournament import Pair
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.collectives.launch.hostfile import Host

LAUNCHERS = ("ssh", "mpirun", "srun")


def link(
    ctx: typer.Context,
    a: Annotated[
        str | None, typer.Argument(metavar="A", help="A node: measure only the link between it and B.")
    ] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="The node at the other end.")] = None,
    nodes: Nodes = None,
    hostfile: Hostfile = None,
    launcher: Annotated[
        str, option(RANKS, "--launcher", metavar="|".join(LAUNCHERS), help="How to start a rank on each node.")
    ] = "",
    variables: Variables = None,
    dry_run: DryRun = False,
    transport: Transport = "",
    size: Bytes = HOST_BYTES,
    latency_size: LatencyBytes = "8",
    iterations: Iterations = 20,
    one_at_a_time: OneAtATime = False,
    bisect: Bisect = False,
    timeout: Timeout = 60.0,
    fault: Fault = "",
    min_gbps: MinGbps = None,
    against: Against = None,
    fail_on: FailOn = Level.WARN,
    save: SaveCapture = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Measure bandwidth and latency between all nodes, or A and B, on every rail, and name the slow node or link.

    Without -w and --hostfile: the nodes of the Slurm allocation. One rank runs on each.

    Examples:
        railgauge cluster link -w gpu[001-064] --bisect
        railgauge cluster link gpu001 gpu002 -w gpu[001-064]
    """
    named = hosts(nodes, hostfile)
    if len(named) < 2:
        raise UsageError("only one node: name at least two")
    pair = pair_of(named, a, b)
    job = link_job(
        size=size,
        latency_size=latency_size,
        iterations=iterations,
        timeout_s=timeout,
        transport=transport,
        pair=pair,
        one_at_a_time=one_at_a_time,
        bisect=bisect,
        fault=fault,
        save_capture=save,
    )
    asked = Start(
        ranks=None,
        launcher=launcher or None,
        hostfile=None,
        hosts=",".join(host.destination for host in named),
        variables=variables or [],
        dry_run=dry_run,
        init_method=None,
        rank=None,
        world_size=None,
        local_rank=None,
        for_ranks=[*map(str, pair), *ctx.obj[len(pair) :]] if pair else ctx.obj,  # A and B come first
        command="link",
    )
    answer = LinkAnswer(
        json=as_json,
        files=tuple(output or ()),
        min_gb_per_s=least_gb_per_s(min_gbps),
        against=against_of(against, bisect=bisect),
        fail_on=fail_on,
    )
    raise typer.Exit(start(job, asked, answer))


def pair_of(named: "Sequence[Host]", a: str | None, b: str | None) -> Pair | None:
    """The ranks on two nodes, the lower one first; None if none is named.

    Raises:
        UsageError: one is not among the nodes, only one is named, or both are the same.
    """
    if a is None:
        return None
    ranks = sorted({_rank_on(named, name) for name in (a, b) if name is not None})
    if len(ranks) < 2:
        raise UsageError(f"name two different nodes: cluster link {a} OTHER")
    return ranks[0], ranks[1]


def _rank_on(named: "Sequence[Host]", name: str) -> int:
    found = next((rank for rank, host in enumerate(named) if name in (host.address, *host.aliases)), None)
    if found is None:
        raise UsageError(f"{name} is not one of the {len(named)} nodes")
    return found
