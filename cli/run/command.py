# SPDX-License-Identifier: Apache-2.0
"""`railgauge run COLLECTIVE`: reads nccl-tests' flags into a Job; then launches the ranks, or is one of them.
`railgauge run --list` runs nothing.
"""

import os
import shlex
from math import inf
from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn
from railgauge.cli.help.command import app_of, argument, option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.machine_options import Json
from railgauge.cli.ranks_command import (
    RANKS,
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
from railgauge.cli.run.excluded_options import check_nccl, check_tune
from railgauge.cli.run.remarks import remarks_on
from railgauge.cli.run.replay import SMALLEST, given_in, operations_of, ranks_to_start
from railgauge.cli.run.result_file import RunAnswer, parse_outputs, parse_tolerance
from railgauge.cli.run.start import start
from railgauge.collectives.device import AUTO, Device, check_device
from railgauge.collectives.dtype import Dtype, parse_dtypes, parse_redops
from railgauge.collectives.engine import Engine, parse_engine
from railgauge.collectives.job import Job
from railgauge.collectives.launch.timeout import check_timeout
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.sizes import parse_size, scan
from railgauge.collectives.without_effect import without_effect
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.values.near import did_you_mean
from railgauge.transports.fault import parse_fault

COLLECTIVES = tuple(NUMBERS)
DTYPES = tuple(dtype.label for dtype in Dtype)
ONE_OF = f"use one of {', '.join(COLLECTIVES)}"
MAX_ROWS = 1_000_000
MOST_ITERATIONS = 100_000_000
WHAT, SIZES, HOW, DEMANDS = "What", "Sizes", "How to measure", "Requirements"


def run(
    ctx: typer.Context,
    collective: Annotated[str, argument(WHAT, f"One of {', '.join(COLLECTIVES)}.", metavar="COLLECTIVE")] = "",
    trace: Annotated[
        list[str] | None,
        option(WHAT, "--trace", metavar="FILE", help="Replay a job's operations (graph predict --trace); repeatable."),
    ] = None,
    dtype: Annotated[
        str,
        option(WHAT, "-d", "--datatype", metavar="TYPE", help=f"The type of elements: {', '.join(DTYPES)}, or all."),
    ] = "float",
    outputs: Annotated[
        list[str] | None,
        option(
            WHAT,
            "-o",
            "--op",
            metavar="OP|FILE",
            help="The operator: sum, prod, min, max, avg or all; or a file for the result: .svg, .html, .csv or "
            ".json; repeatable.",
        ),
    ] = None,
    root: Annotated[
        int, option(WHAT, "-r", "--root", metavar="RANK", min=-1, help="The root rank; -1 takes each rank in turn.")
    ] = 0,
    begin: Annotated[str, option(SIZES, "-b", "--minbytes", metavar="SIZE", help="The smallest size.")] = "32M",
    end: Annotated[str, option(SIZES, "-e", "--maxbytes", metavar="SIZE", help="The largest size.")] = "32M",
    step: Annotated[
        str, option(SIZES, "-i", "--stepbytes", metavar="SIZE", help="Add this to get the next size.")
    ] = "1M",
    factor: Annotated[
        float, option(SIZES, "-f", "--stepfactor", metavar="X", help="Multiply by this to get the next size.")
    ] = 1.0,
    iterations: Annotated[
        int, option(HOW, "-n", "--iters", metavar="N", min=1, max=MOST_ITERATIONS, help="Time N iterations.")
    ] = 20,
    warmup: Annotated[
        int,
        option(HOW, "-w", "--warmup_iters", metavar="N", min=0, max=MOST_ITERATIONS, help="Do N untimed ones before."),
    ] = 1,
    aggregate: Annotated[
        int,
        option(HOW, "-m", "--agg_iters", metavar="N", min=1, max=MOST_ITERATIONS, help="Do N operations an iteration."),
    ] = 1,
    cycles: Annotated[
        int, option(HOW, "-N", "--run_cycles", metavar="N", min=0, help="Repeat the whole scan N times; 0 never ends.")
    ] = 1,
    check: Annotated[
        int,
        option(
            HOW,
            "-c",
            "--check",
            metavar="N",
            min=0,
            help="Verify N operations a size, and one more on random data; 0 verifies none.",
        ),
    ] = 1,
    average: Annotated[
        int,
        option(
            HOW,
            "-a",
            "--average",
            metavar="N",
            min=0,
            max=3,
            help="Report the time of rank 0 (0), the mean (1), the minimum (2) or the maximum (3) of all ranks.",
        ),
    ] = 1,
    cpu_time: Annotated[
        int, option(HOW, "-C", "--report_cputime", metavar="0|1", help="1 reports the mean CPU time, warm-up included.")
    ] = 0,
    timeout: Annotated[
        float, option(HOW, "-T", "--timeout", metavar="SECONDS", help="End after this time without progress.")
    ] = 60.0,
    blocking: Annotated[
        int,
        option(
            HOW,
            "-z",
            "--blocking",
            metavar="0|1",
            help="1: the host waits for each operation and times it by its own clock (GPUs only).",
        ),
    ] = 0,
    cudagraph: Annotated[
        int, option(HOW, "-G", "--cudagraph", metavar="N", help="Replay a CUDA graph N times (GPUs only).")
    ] = 0,
    register: Annotated[
        int,
        option(
            HOW,
            "-R",
            "--local_register",
            metavar="0|1|2",
            min=0,
            max=2,
            help="1 or 2: register buffers, which all ranks of a host map and its NICs read without copies.",
        ),
    ] = 0,
    device: Annotated[
        str,
        option(
            HOW, "--device", metavar="auto|cpu|cuda", help="Where ranks keep data: cpu is host memory, cuda is GPUs."
        ),
    ] = AUTO,
    engine: Annotated[
        str,
        option(HOW, "--engine", metavar="railgauge|nccl", help="nccl: the installed NCCL, on GPUs only, same table."),
    ] = Engine.RAILGAUGE,
    graph: Annotated[str, option(HOW, "--graph", metavar="FILE", help="Use the channels of this graph XML.")] = "",
    tune: Annotated[bool, option(HOW, "--tune", help="Time every algorithm; later runs choose the fastest.")] = False,
    fault: Fault = "",
    ranks: RanksToStart = None,
    ngpus: Annotated[
        int, option(RANKS, "-g", "--ngpus", metavar="N", min=1, help="Have N ranks on each thread of a process.")
    ] = 1,
    nthreads: Annotated[
        int, option(RANKS, "-t", "--nthreads", metavar="N", min=1, help="Have N threads in each process.")
    ] = 1,
    launcher: Launcher = "",
    hostfile: Hostfile = "",
    hosts: Hosts = "",
    variables: Variables = None,
    dry_run: DryRun = False,
    init_method: InitMethod = "",
    rank: Rank = None,
    world_size: WorldSize = None,
    local_rank: LocalRank = None,
    min_busbw: Annotated[
        float | None,
        option(
            DEMANDS,
            "--min-busbw",
            metavar="GB/S",
            show_default=False,
            help="Fail (exit status 4) below this average bus bandwidth, in GB/s.",
        ),
    ] = None,
    expect_transport: Annotated[
        str,
        option(
            DEMANDS,
            "--expect-transport",
            metavar="TRANSPORT",
            help="Fail (exit status 4) unless all traffic uses this transport: P2P, SHM, NET/Socket or NET/IB.",
        ),
    ] = "",
    counters: Annotated[
        bool,
        option(DEMANDS, "--counters", help="Fail (exit status 4) unless the links' counters show the planned bytes."),
    ] = False,
    compare: Annotated[
        str,
        option(
            DEMANDS,
            "--compare",
            metavar="FILE",
            help="Fail (exit status 1) if a size is slower than in this older result (JSON, or nccl-tests' output).",
        ),
    ] = "",
    tolerance: Annotated[
        float | None,
        option(
            DEMANDS,
            "--tolerance",
            metavar="PERCENT",
            show_default="10",
            help="How much slower than the older result a size may be.",
        ),
    ] = None,
    fail_on: FailOn = Level.WARN,
    save: SaveCapture = None,
    output: Annotated[
        str, option(ANSWER, "-J", "--output_file", metavar="FILE", help="Write the JSON document to this file.")
    ] = "",
    record: Annotated[
        str | None, option(ANSWER, "--record", metavar="FILE", help="Write a flight record of all ranks.")
    ] = None,
    as_json: Json = False,
    list_all: Annotated[
        bool,
        option(ANSWER, "--list", help="Run nothing: list what runs on this machine, and what is missing for the rest."),
    ] = False,
) -> int:
    """Run a validated collective over the planned channels, with nccl-tests' flags and table.

    Examples:
        railgauge run all_reduce -b 8 -e 1G -f 2 -g 8
        railgauge run all_reduce --device cpu --ranks 8 -b 1M -e 64M -f 4
        railgauge run alltoall --hosts gpu[01-04] -g 8 -o result.svg
        railgauge run --trace flight_records/ --engine nccl -g 8
    """
    if list_all:
        from railgauge.cli.run import listing

        if others := [word for word in ctx.obj if word not in ("--list", "--json")]:
            raise UsageError(f"--list runs nothing: leave {shlex.join(others)} out")
        return listing.list_all(as_json=as_json)
    operations = operations_of(trace, given_in(ctx)) if trace else ()
    if operations:
        collective, begin, end = operations[0].collective, str(SMALLEST), str(SMALLEST)
    if collective not in COLLECTIVES:
        near = did_you_mean(collective, COLLECTIVES)
        what = f"unknown collective '{collective}'{near}" if collective else "no collective given"
        raise UsageError(f"{what}: {ONE_OF}")
    check_timeout(timeout)
    if cycles == 0 and as_json:
        raise UsageError("-N 0 never ends, so --json would never print: leave one of them out")
    if fault and check == 0:
        raise UsageError("--fault acts on the first verified operation: -c has to be 1 or more")
    if max(iterations, warmup) * aggregate > MOST_ITERATIONS:
        raise UsageError(f"-n or -w times -m: more than {MOST_ITERATIONS} operations per size")
    if tolerance is not None and not compare:
        raise UsageError("--tolerance requires --compare")
    if record == "":
        raise UsageError("--record needs a file name")
    check_device(device)
    chosen = parse_engine(engine)
    if chosen is Engine.NCCL:
        check_nccl(
            device,
            {"--tune": tune, "--fault": fault, "--record": record, "--counters": counters, "--save-capture": save},
        )
        device = Device.CUDA
    redop, files = parse_outputs(outputs or [], output)
    of_gpus = {"-z": blocking, "-G": cudagraph}

    def remarks() -> list[str]:
        return [] if chosen is Engine.NCCL else [*remarks_on(device, register, of_gpus), *without_effect(os.environ)]

    if tune:
        check_tune(
            {"--min-busbw": min_busbw, "--expect-transport": expect_transport, "--compare": compare}
            | {"--fault": fault, "--record": record, "--counters": counters or None},
            files,
        )
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
        min_busbw=None if tune else least_busbw(min_busbw),
        expect_transport=expect_transport or None,
        json=as_json,
        tune=tune,
        register=register,
        engine=chosen,
        counters=counters,
        record=bool(record),
        device=device,
        trace=operations,
        replays=cudagraph,
        blocking=bool(blocking),
        save_capture=save,
    )
    asked = Start(
        ranks=ranks_to_start(ranks, operations, ctx) if operations else ranks,
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
        command="run",
    )
    lost = parse_tolerance(10.0 if tolerance is None else tolerance)
    answer = RunAnswer(files=files, record=record, compare=compare or None, tolerance=lost, fail_on=fail_on)
    return start(job, asked, answer, remarks)


app = app_of(run, RanksCommand)


def sizes(begin: int, end: int, step: int, factor: float) -> tuple[int, ...]:
    """All sizes of the scan; UsageError if they are too many."""
    found = []
    for size in scan(begin, end, step, factor):
        found.append(size)
        if len(found) > MAX_ROWS:
            raise UsageError(f"more than {MAX_ROWS} sizes: raise -i or use -f")
    return tuple(found)


def least_busbw(flag: float | None) -> float | None:
    """The required bandwidth in GB/s: --min-busbw, or nine tenths of nccl-tests' NCCL_TESTS_MIN_BW.

    Raises:
        UsageError: it is not a finite number, 0 or more.
    """
    if flag is not None:
        return _bandwidth("--min-busbw", flag)
    text = os.environ.get("NCCL_TESTS_MIN_BW")
    if not text:
        return None
    try:
        return _bandwidth("NCCL_TESTS_MIN_BW", float(text)) * 0.9
    except ValueError:
        raise UsageError(f"NCCL_TESTS_MIN_BW={text} is not a number") from None


def _bandwidth(name: str, value: float) -> float:
    if not 0 <= value < inf:
        raise UsageError(f"{name} {value:g}: expected a bandwidth in GB/s, 0 or more")
    return value
