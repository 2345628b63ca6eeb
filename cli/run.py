# SPDX-License-Identifier: Apache-2.0
"""`railgauge run COLLECTIVE`: nccl-tests' flags, read into a Job; then either the ranks are launched, or this process
is one of them.
"""

import os
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from railgauge.cli.run_start import Start, ranks_arguments, start
from railgauge.collectives.dtype import parse_dtypes, parse_redops
from railgauge.collectives.job import Job
from railgauge.collectives.launch.launch import NAMES
from railgauge.collectives.launch.timeout import check_timeout
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.sizes import parse_size, scan
from railgauge.topo.algorithm import Collective
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports.fault import parse_fault

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})

COLLECTIVES = tuple(NUMBERS)
MAX_ROWS = 1_000_000
MOST_ITERATIONS = 100_000_000
MOST_FACTOR = 1e6


class RunCommand(TyperCommand):
    """The command, which knows what was typed: its context's `obj` is the command line for the ranks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Called by typer."""
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        ctx.obj = ranks_arguments(self.params, given)
        return super().parse_args(ctx, args)


@app.command(cls=RunCommand)
def run(
    ctx: typer.Context,
    collective: Annotated[str, typer.Argument(help=", ".join(COLLECTIVES))],
    begin: Annotated[str, typer.Option("-b", "--minbytes", help="smallest size")] = "32M",
    end: Annotated[str, typer.Option("-e", "--maxbytes", help="largest size")] = "32M",
    step: Annotated[str, typer.Option("-i", "--stepbytes", help="next size: plus this")] = "1M",
    factor: Annotated[float, typer.Option("-f", "--stepfactor", help="next size: times this")] = 1.0,
    iterations: Annotated[int, typer.Option("-n", "--iters", min=1, max=MOST_ITERATIONS, help="timed iterations")] = 20,
    warmup: Annotated[int, typer.Option("-w", "--warmup_iters", min=0, help="untimed iterations before")] = 1,
    aggregate: Annotated[int, typer.Option("-m", "--agg_iters", min=1, help="operations per iteration")] = 1,
    cycles: Annotated[int, typer.Option("-N", "--run_cycles", min=0, help="repeat the whole scan; 0: forever")] = 1,
    check: Annotated[int, typer.Option("-c", "--check", min=0, help="verified operations per size; 0: none")] = 1,
    redop: Annotated[str, typer.Option("-o", "--op", help="sum, prod, min, max, avg or all")] = "sum",
    dtype: Annotated[str, typer.Option("-d", "--datatype", help="float, half, bfloat16, int8, ... or all")] = "float",
    root: Annotated[
        int, typer.Option("-r", "--root", min=-1, help="the root, for collectives with one; -1: each rank")
    ] = 0,
    ngpus: Annotated[int, typer.Option("-g", "--ngpus", min=1, help="ranks per thread of this process")] = 1,
    nthreads: Annotated[int, typer.Option("-t", "--nthreads", min=1, help="threads per process")] = 1,
    blocking: Annotated[int, typer.Option("-z", "--blocking", help="host operations always block")] = 0,
    cudagraph: Annotated[int, typer.Option("-G", "--cudagraph", help="GPUs only")] = 0,
    average: Annotated[int, typer.Option("-a", "--average", min=0, max=3, help="0 rank 0, 1 avg, 2 min, 3 max")] = 1,
    cpu_time: Annotated[int, typer.Option("-C", "--report_cputime", help="1: report CPU time")] = 0,
    register: Annotated[int, typer.Option("-R", "--local_register", help="GPUs only")] = 0,
    timeout: Annotated[float, typer.Option("-T", "--timeout", help="seconds without progress that end the run")] = 60.0,
    output: Annotated[str, typer.Option("-J", "--output_file", help="write the JSON document here too")] = "",
    ranks: Annotated[int | None, typer.Option("--ranks", "-np", min=1, help="start this many ranks")] = None,
    launcher: Annotated[str, typer.Option("--launcher", help=f"how to start them: {', '.join(NAMES)}")] = "",
    hostfile: Annotated[str, typer.Option("--hostfile", help="on these hosts: Open MPI's or MPICH's format")] = "",
    hosts: Annotated[str, typer.Option("--hosts", help="or on these: gpu[01-04], gpu01:8,gpu02:8")] = "",
    variables: Annotated[list[str] | None, typer.Option("-x", help="NAME[=VALUE]: give it to all ranks")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="print the commands that would start the ranks")] = False,
    init_method: Annotated[str, typer.Option("--init-method", help="env://, tcp://HOST:PORT or file:///PATH")] = "",
    rank: Annotated[int | None, typer.Option("--rank", min=0, help="this process's number")] = None,
    world_size: Annotated[int | None, typer.Option("--world-size", min=1, help="of so many processes")] = None,
    local_rank: Annotated[int | None, typer.Option("--local-rank", min=0, help="its number on this host")] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda")] = "auto",
    graph: Annotated[str, typer.Option("--graph", help="execute the channels of this graph.txt")] = "",
    min_busbw: Annotated[float, typer.Option("--min-busbw", help="fail below this average bus bandwidth, GB/s")] = -1.0,
    expect_transport: Annotated[str, typer.Option("--expect-transport", help="fail unless all go via this")] = "",
    fault: Annotated[str, typer.Option("--fault", help="inject flip|stall:rank=R,channel=C,message=M,seconds=S")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> int:
    """Run a validated collective over the planned channels, with nccl-tests' flags and table."""
    if collective not in COLLECTIVES:
        raise UsageError(f"no collective '{collective}'; there are {', '.join(COLLECTIVES)}")
    check_timeout(timeout)
    if not 0 <= factor <= MOST_FACTOR:
        raise UsageError(f"-f {factor:g}: it has to be from 0 to {MOST_FACTOR:g}")
    if cycles == 0 and as_json:
        raise UsageError("-N 0 never ends, so there is no document for --json")
    if fault and check == 0:
        raise UsageError("--fault comes with the first verified operation: -c has to be 1 or more")
    remarks = [*memory_used(device), *ignored({"-z": blocking, "-G": cudagraph, "-R": register})]
    first, last, stride = parse_size(begin), parse_size(end), parse_size(step)
    job = Job(
        collective=Collective(collective),
        sizes=sizes(first, last, stride, factor),
        dtypes=tuple(parse_dtypes(dtype)),
        redops=tuple(parse_redops(redop)),
        root=root,
        begin=first,
        end=last,
        step=stride,
        factor=factor,
        iterations=iterations,
        warmup=warmup,
        aggregate=aggregate,
        cycles=cycles,
        check=check,
        average=average,
        cpu_time=bool(cpu_time),
        threads=nthreads,
        ranks_per_thread=ngpus,
        timeout_s=timeout,
        graph_file=graph or None,
        fault=parse_fault(fault) if fault else None,
        min_busbw=least_busbw(min_busbw),
        expect_transport=expect_transport or None,
        json=as_json,
    )
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
    )
    return start(job, asked, output, remarks)


def memory_used(device: str) -> list[str]:
    """What there is to say about the memory; this version moves host memory."""
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {device}: it is auto, cpu or cuda")
    if device == "cuda":
        raise UnavailableError("--device cuda: this version has no GPU engine yet; --device cpu runs host ranks")
    return ["ranks use host memory"] if device == "auto" else []


def ignored(flags: dict[str, int]) -> list[str]:
    """Name nccl-tests' flags that have no meaning on host memory."""
    given = [name for name, value in flags.items() if value]
    return [f"{', '.join(given)}: no effect in host memory"] if given else []


def sizes(begin: int, end: int, step: int, factor: float) -> tuple[int, ...]:
    """All sizes of the scan; an error when they would fill memory."""
    found = []
    for size in scan(begin, end, step, factor):
        found.append(size)
        if len(found) > MAX_ROWS:
            raise UsageError(f"more than {MAX_ROWS} sizes: raise -i or use -f")
    return tuple(found)


def least_busbw(flag: float) -> float | None:
    """The bandwidth asked for: --min-busbw, or nccl-tests' NCCL_TESTS_MIN_BW, which allows a tenth less."""
    if flag >= 0:
        return flag
    text = os.environ.get("NCCL_TESTS_MIN_BW")
    if not text:
        return None
    try:
        return float(text) * 0.9
    except ValueError:
        raise UsageError(f"NCCL_TESTS_MIN_BW={text} is not a number") from None
