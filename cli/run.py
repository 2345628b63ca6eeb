# SPDX-License-Identifier: Apache-2.0
"""`railgauge run COLLECTIVE`: nccl-tests' flags, read into a Job; then either the ranks are launched, or this process
is one of them.
"""

import os
import resource
import sys
from typing import Annotated

import typer

from railgauge.cli.run_output import RunOutput
from railgauge.collectives.document import RunDocument
from railgauge.collectives.dtype import parse_dtypes, parse_redops
from railgauge.collectives.job import Job, Place, place_from_environment
from railgauge.collectives.launch import local
from railgauge.collectives.run import run_process
from railgauge.collectives.sizes import parse_size, scan
from railgauge.topo.algorithm import Collective
from railgauge.topo.errors import PeerLostError, RunError, UnavailableError, UsageError
from railgauge.topo.host_ranks import MAX_RANKS
from railgauge.transports.fault import parse_fault

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})

COLLECTIVES = (Collective.ALL_REDUCE,)
MAX_ROWS = 1_000_000
MOST_ITERATIONS = 100_000_000
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.5, 1e6
MOST_FACTOR = 1e6


@app.command()
def run(
    collective: Annotated[str, typer.Argument(help="all_reduce")],
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
    root: Annotated[int, typer.Option("-r", "--root", help="the root, for collectives with one")] = 0,
    ngpus: Annotated[int, typer.Option("-g", "--ngpus", min=1, help="ranks per thread of this process")] = 1,
    nthreads: Annotated[int, typer.Option("-t", "--nthreads", min=1, help="threads per process")] = 1,
    blocking: Annotated[int, typer.Option("-z", "--blocking", help="host operations always block")] = 0,
    cudagraph: Annotated[int, typer.Option("-G", "--cudagraph", help="GPUs only")] = 0,
    average: Annotated[int, typer.Option("-a", "--average", min=0, max=3, help="0 rank 0, 1 avg, 2 min, 3 max")] = 1,
    cpu_time: Annotated[int, typer.Option("-C", "--report_cputime", help="1: report CPU time")] = 0,
    register: Annotated[int, typer.Option("-R", "--local_register", help="GPUs only")] = 0,
    timeout: Annotated[float, typer.Option("-T", "--timeout", help="seconds without progress that end the run")] = 60.0,
    output: Annotated[str, typer.Option("-J", "--output_file", help="write the JSON document here too")] = "",
    ranks: Annotated[int | None, typer.Option("--ranks", min=1, help="start this many ranks on this machine")] = None,
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
    if not LEAST_TIMEOUT_S <= timeout <= MOST_TIMEOUT_S:
        raise UsageError(f"--timeout {timeout:g}: it has to be from {LEAST_TIMEOUT_S:g} to {MOST_TIMEOUT_S:g} seconds")
    if not 0 <= factor <= MOST_FACTOR:
        raise UsageError(f"-f {factor:g}: it has to be from 0 to {MOST_FACTOR:g}")
    if cycles == 0 and as_json:
        raise UsageError("-N 0 never ends, so there is no document for --json")
    if fault and check == 0:
        raise UsageError("--fault comes with the first verified operation: -c has to be 1 or more")
    check_device(device)
    note_ignored({"-z": blocking, "-G": cudagraph, "-R": register, "-r": root})
    first, last, stride = parse_size(begin), parse_size(end), parse_size(step)
    job = Job(
        collective=collective,
        sizes=sizes(first, last, stride, factor),
        dtypes=tuple(parse_dtypes(dtype)),
        redops=tuple(parse_redops(redop)),
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
    place = place_from_environment()
    if place is None and ranks is not None:
        return launch_ranks(job, ranks, output)
    if place and ranks not in (None, place.processes * job.ranks_per_process):
        raise UsageError(
            f"--ranks {ranks}, but RANK and WORLD_SIZE are set, for {place.processes} processes: unset them"
        )
    if place is None:
        with local.listen() as listener:
            return run_here(job, local.only_process(listener), output)
    return run_here(job, place, output)


def check_device(device: str) -> None:
    """Say which memory is used; this version moves host memory."""
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {device}: it is auto, cpu or cuda")
    if device == "cuda":
        raise UnavailableError("--device cuda: this version has no GPU engine yet; --device cpu runs host ranks")
    if device == "auto" and os.environ.get("RANK", "0") == "0" and "RAILGAUGE_LAUNCHER_PID" not in os.environ:
        print("railgauge run: ranks use host memory", file=sys.stderr)


def note_ignored(flags: dict[str, int]) -> None:
    """Name nccl-tests' flags that have no meaning on host memory."""
    given = [name for name, value in flags.items() if value]
    if given and "RAILGAUGE_LAUNCHER_PID" not in os.environ:
        print(f"railgauge run: {', '.join(given)}: no effect on all_reduce in host memory", file=sys.stderr)


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


def launch_ranks(job: Job, ranks: int, output_file: str) -> int:
    """Start the ranks on this machine and wait for them."""
    if ranks % job.ranks_per_process:
        raise UsageError(f"--ranks {ranks} is not a multiple of -t x -g = {job.ranks_per_process}")
    if ranks > MAX_RANKS:
        raise UsageError(f"--ranks {ranks}: {MAX_RANKS} are possible on one machine")
    ended = local.launch(ranks // job.ranks_per_process, sys.argv[1:], job.timeout_s)
    if ended.status not in (0, 130) and not ended.reported:
        document = RunDocument.failed(job.collective, ranks, ended.message or "the run failed before it had a result")
        RunOutput(job, output_file, leads=True).finish(document, RunError(document.error))
    elif ended.message:
        print(f"railgauge run: {ended.message}", file=sys.stderr)
    return ended.status


def run_here(job: Job, place: Place, output_file: str) -> int:
    """Be this process's ranks; rank 0's process prints the result, another one only what rank 0 cannot say."""
    local.die_with_parent()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))  # memory and sockets of many ranks
    output = RunOutput(job, output_file, leads=place.process == 0)
    finished = run_process(job, place, output.say)
    if place.process != 0 and lost_rank_0(finished.error, place, job):
        print(f"railgauge run: rank {place.process * job.ranks_per_process}: {finished.error}", file=sys.stderr)
    status = output.finish(finished.document, finished.error)
    if place.process == 0:
        local.report_is_out()
    return status


def lost_rank_0(error: Exception | None, place: Place, job: Job) -> bool:
    """Whether this process has to speak because rank 0 cannot; the next one does it for all."""
    lost = error.rank if isinstance(error, PeerLostError) else None
    return lost is not None and lost < job.ranks_per_process and place.process == 1
