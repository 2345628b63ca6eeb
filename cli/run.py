# SPDX-License-Identifier: Apache-2.0
"""`railgauge run COLLECTIVE`: nccl-tests' flags, read into a Job; then either the ranks are launched, or this process
is one of them.
"""

import json
import os
import sys
from typing import Annotated

import typer

from railgauge.collectives.dtype import parse_dtypes, parse_redops
from railgauge.collectives.job import Job, Place, place_from_environment
from railgauge.collectives.launch import local
from railgauge.collectives.sizes import parse_size, scan
from railgauge.topo.errors import PeerLostError, RunError, UnavailableError, UsageError
from railgauge.transports.fault import parse_fault

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})

COLLECTIVES = ("all_reduce",)
MAX_ROWS = 1_000_000


@app.command()
def run(
    collective: Annotated[str, typer.Argument(help="all_reduce")],
    begin: Annotated[str, typer.Option("-b", "--minbytes", help="smallest size")] = "32M",
    end: Annotated[str, typer.Option("-e", "--maxbytes", help="largest size")] = "32M",
    step: Annotated[str, typer.Option("-i", "--stepbytes", help="next size: plus this")] = "1M",
    factor: Annotated[float, typer.Option("-f", "--stepfactor", help="next size: times this")] = 1.0,
    iterations: Annotated[int, typer.Option("-n", "--iters", min=1, help="timed iterations")] = 20,
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
    if timeout <= 0:
        raise UsageError(f"--timeout {timeout:g}: it has to be more than 0")
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
        return launch_ranks(job, ranks)
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


def launch_ranks(job: Job, ranks: int) -> int:
    """Start the ranks on this machine and wait for them."""
    if ranks % job.ranks_per_process:
        raise UsageError(f"--ranks {ranks} is not a multiple of -t x -g = {job.ranks_per_process}")
    ended = local.launch(ranks // job.ranks_per_process, sys.argv[1:], job.timeout_s)
    if ended.message:
        print(f"railgauge run: {ended.message}", file=sys.stderr)
        if job.json and ended.rank0_silent:
            print(json.dumps({"schema": "railgauge/run/1", "status": "failed", "error": ended.message}))
    return ended.status


def run_here(job: Job, place: Place, output_file: str) -> int:
    """Be this process's ranks; rank 0's process prints the result, another one only what rank 0 cannot say."""
    from railgauge.cli.run_output import RunOutput
    from railgauge.collectives.run import run_process

    local.die_with_parent()
    output = RunOutput(job, output_file, leads=place.process == 0)
    finished = run_process(job, place, output.say)
    if place.process == 0 and finished.document is None and finished.error:
        raise finished.error
    if place.process != 0 and must_speak(finished.error, place, job):
        print(f"railgauge run: rank {place.process * job.ranks_per_process}: {finished.error}", file=sys.stderr)
    return output.finish(finished.document, finished.error)


def must_speak(error: Exception | None, place: Place, job: Job) -> bool:
    """Whether a process without rank 0 has something to say that rank 0's does not know."""
    if isinstance(error, PeerLostError) and error.rank is not None and error.rank < job.ranks_per_process:
        return place.process == 1
    return error is not None and not isinstance(error, RunError)
