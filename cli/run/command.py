# SPDX-License-Identifier: Apache-2.0
"""`railgauge run COLLECTIVE`: reads nccl-tests' flags into a Job; then launches the ranks, or is one of them.
`railgauge run --list` runs nothing.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated

import typer

from railgauge.cli.ranks_command import RanksCommand, SaveCapture, argument, option
from railgauge.cli.ranks_start import Start
from railgauge.cli.run.result_file import JSON, ResultFile, RunAnswer, parse_outputs, parse_tolerance
from railgauge.cli.run.start import start
from railgauge.collectives.device import AUTO, Device, check_device
from railgauge.collectives.dtype import parse_dtypes, parse_redops
from railgauge.collectives.engine import Engine, parse_engine
from railgauge.collectives.job import Job
from railgauge.collectives.launch.launch import NAMES
from railgauge.collectives.launch.timeout import check_timeout
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.sizes import parse_size, scan
from railgauge.collectives.without_effect import without_effect
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.fault import parse_fault

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)

COLLECTIVES = tuple(NUMBERS)
ONE_OF = f"use one of {', '.join(COLLECTIVES)}"
MAX_ROWS = 1_000_000
MOST_ITERATIONS = 100_000_000
HOW, RANKS, PLACE = "How to measure", "Ranks to start", "Place of a process that another launcher started"
DEMANDS = "Requirements (exit status 4 if not met; 1 if slower than OLD)"
OUTPUTS = "sum, prod, min, max, avg or all; or a result file: .svg or .html (curves), .csv, .json"
CHECK = "verified operations per size, plus one on random data; 0: none"
COMPARE = "fail if a size is slower than in this older result (JSON)"
REGISTER = "1 or 2: registered buffers, mapped by all ranks of a host and read by its NICs without copies; 0: off"
COUNTERS = "fail unless all links carried the planned bytes, by their counters before and after"
ENGINE = "railgauge, or nccl: the installed NCCL, GPUs only, same table"
LIST = "run nothing: list what runs on this machine, and what is missing for the rest"


@app.command(cls=RanksCommand)
def run(
    ctx: typer.Context,
    collective: Annotated[str, argument("What", ", ".join(COLLECTIVES))] = "",
    dtype: Annotated[str, option("What", "-d", "--datatype", help="float, half, bfloat16, int8, ... or all")] = "float",
    outputs: Annotated[list[str] | None, option("What", "-o", "--op", metavar="OP|FILE", help=OUTPUTS)] = None,
    root: Annotated[int, option("What", "-r", "--root", min=-1, help="root rank; -1: each rank in turn")] = 0,
    begin: Annotated[str, option("Sizes", "-b", "--minbytes", help="smallest size")] = "32M",
    end: Annotated[str, option("Sizes", "-e", "--maxbytes", help="largest size")] = "32M",
    step: Annotated[str, option("Sizes", "-i", "--stepbytes", help="added to get the next size")] = "1M",
    factor: Annotated[float, option("Sizes", "-f", "--stepfactor", help="multiplied to get the next size")] = 1.0,
    iterations: Annotated[int, option(HOW, "-n", "--iters", min=1, max=MOST_ITERATIONS, help="timed iterations")] = 20,
    warmup: Annotated[
        int, option(HOW, "-w", "--warmup_iters", min=0, max=MOST_ITERATIONS, help="untimed iterations before")
    ] = 1,
    aggregate: Annotated[
        int, option(HOW, "-m", "--agg_iters", min=1, max=MOST_ITERATIONS, help="operations per iteration")
    ] = 1,
    cycles: Annotated[int, option(HOW, "-N", "--run_cycles", min=0, help="repeat the whole scan; 0: forever")] = 1,
    check: Annotated[int, option(HOW, "-c", "--check", min=0, help=CHECK)] = 1,
    average: Annotated[int, option(HOW, "-a", "--average", min=0, max=3, help="0 rank 0, 1 avg, 2 min, 3 max")] = 1,
    cpu_time: Annotated[int, option(HOW, "-C", "--report_cputime", help="1: report mean CPU time, with warm-up")] = 0,
    timeout: Annotated[float, option(HOW, "-T", "--timeout", help="end after so many seconds without progress")] = 60.0,
    blocking: Annotated[
        int,
        option(
            HOW,
            "-z",
            "--blocking",
            help="1: the host waits for each operation and times it by its own clock (GPUs only)",
        ),
    ] = 0,
    cudagraph: Annotated[int, option(HOW, "-G", "--cudagraph", help="replays of a CUDA graph (GPUs only)")] = 0,
    register: Annotated[int, option(HOW, "-R", "--local_register", min=0, max=2, help=REGISTER)] = 0,
    device: Annotated[str, option(HOW, "--device", help="auto, cpu or cuda")] = AUTO,
    engine: Annotated[str, option(HOW, "--engine", help=ENGINE)] = Engine.RAILGAUGE,
    graph: Annotated[str, option(HOW, "--graph", help="use the channels of this graph.txt")] = "",
    fault: Annotated[str, option(HOW, "--fault", help="inject flip|stall:rank=R,channel=C,message=M,seconds=S")] = "",
    ranks: Annotated[int | None, option(RANKS, "--ranks", "-np", min=1, help="start this many ranks")] = None,
    ngpus: Annotated[int, option(RANKS, "-g", "--ngpus", min=1, help="ranks per thread of a process")] = 1,
    nthreads: Annotated[int, option(RANKS, "-t", "--nthreads", min=1, help="threads per process")] = 1,
    launcher: Annotated[str, option(RANKS, "--launcher", help=f"how to start them: {', '.join(NAMES)}")] = "",
    hostfile: Annotated[str, option(RANKS, "--hostfile", help="the hosts: an Open MPI or MPICH hostfile")] = "",
    hosts: Annotated[str, option(RANKS, "--hosts", help="the hosts: gpu[01-04] or gpu01:8,gpu02:8")] = "",
    variables: Annotated[list[str] | None, option(RANKS, "-x", help="NAME[=VALUE]: set it for all ranks")] = None,
    dry_run: Annotated[bool, option(RANKS, "--dry-run", help="print the commands that would start them")] = False,
    init_method: Annotated[str, option(PLACE, "--init-method", help="env://, tcp://HOST:PORT or file:///PATH")] = "",
    rank: Annotated[int | None, option(PLACE, "--rank", min=0, help="number of this process")] = None,
    world_size: Annotated[int | None, option(PLACE, "--world-size", min=1, help="number of processes")] = None,
    local_rank: Annotated[int | None, option(PLACE, "--local-rank", min=0, help="its number on its host")] = None,
    min_busbw: Annotated[
        float | None,
        option(DEMANDS, "--min-busbw", show_default=False, help="fail below this average bus bandwidth, GB/s"),
    ] = None,
    expect_transport: Annotated[
        str, option(DEMANDS, "--expect-transport", help="fail unless all traffic uses this transport")
    ] = "",
    counters: Annotated[bool, option(DEMANDS, "--counters", help=COUNTERS)] = False,
    compare: Annotated[str, option(DEMANDS, "--compare", metavar="OLD", help=COMPARE)] = "",
    tolerance: Annotated[
        float | None, option(DEMANDS, "--tolerance", show_default="10", help="percent of OLD's speed that may be lost")
    ] = None,
    output: Annotated[str, option("Answer", "-J", "--output_file", help="write the JSON document to this file")] = "",
    tune: Annotated[bool, option(HOW, "--tune", help="time every algorithm; later runs choose the fastest")] = False,
    save: SaveCapture = None,
    record: Annotated[str | None, option("Answer", "--record", help="write a flight record of all ranks")] = None,
    as_json: Annotated[bool, option("Answer", "--json", help="print one JSON document")] = False,
    list_all: Annotated[bool, option("Answer", "--list", help=LIST)] = False,
) -> int:
    """Run a validated collective over the planned channels, with nccl-tests' flags and table."""
    if list_all:
        from railgauge.cli.run import listing

        if others := [word for word in ctx.obj if word not in ("--list", "--json")]:
            raise UsageError(f"--list runs nothing: leave {shlex.join(others)} out")
        return listing.list_all(as_json=as_json)
    if collective not in COLLECTIVES:
        raise UsageError(
            f"unknown collective '{collective}': {ONE_OF}" if collective else f"no collective given: {ONE_OF}"
        )
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
        replays=cudagraph,
        blocking=bool(blocking),
        save_capture=save,
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
        command="run",
    )
    lost = parse_tolerance(10.0 if tolerance is None else tolerance)
    answer = RunAnswer(files=files, record=record, compare=compare or None, tolerance=lost)
    return start(job, asked, answer, remarks)


def remarks_on(device: str, register: int, of_gpus: dict[str, int]) -> list[str]:
    """Remarks on the memory that the ranks use, and on flags without effect there."""
    from railgauge.collectives.device import why_no_gpu

    why = None if device == Device.CPU else why_no_gpu()
    if device == Device.CUDA or (device == AUTO and not why):
        return ["ranks use GPUs"] * (device == AUTO)
    return [*([f"ranks use host memory: {why}"] if why else []), *registered(register), *ignored(of_gpus)]


def registered(register: int) -> list[str]:
    """A remark on -R: host memory has one kind of registration."""
    symmetric = "; same as -R 1, host memory has no symmetric registration" if register == 2 else ""
    memory = "mapped by all ranks of a host and registered with RDMA devices"
    return [f"-R {register}: buffers are {memory}{symmetric}"] if register else []


def ignored(flags: dict[str, int]) -> list[str]:
    """A remark that names nccl-tests' flags without effect in host memory."""
    given = [name for name, value in flags.items() if value]
    return [f"{', '.join(given)}: no effect in host memory"] if given else []


def sizes(begin: int, end: int, step: int, factor: float) -> tuple[int, ...]:
    """All sizes of the scan; UsageError if they are too many."""
    found = []
    for size in scan(begin, end, step, factor):
        found.append(size)
        if len(found) > MAX_ROWS:
            raise UsageError(f"more than {MAX_ROWS} sizes: raise -i or use -f")
    return tuple(found)


def check_tune(given: Mapping[str, object], files: Sequence[ResultFile]) -> None:
    """Check what goes with --tune, which measures algorithms and gives no rows.

    Raises:
        UsageError: an option needs rows, or a setting would distort the measurement.
    """
    wants_rows = [flag for flag, value in given.items() if value not in (None, "")]
    wants_rows += [f"-o {file.path}" for file in files if file.format != JSON]
    if wants_rows:
        raise UsageError(f"--tune gives no rows, which {', '.join(wants_rows)} needs: leave one of them out")
    from railgauge.collectives.tune import check_undistorted

    check_undistorted(os.environ)


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


def check_nccl(device: str, ours: Mapping[str, object]) -> None:
    """Refuse host memory and options of our own engine; `ours` has the values of these.

    Raises:
        UsageError: one of them is given.
    """
    if device not in (AUTO, Device.CUDA):
        raise UsageError(f"--engine nccl uses GPU memory only: leave out --device {device}")
    if given := [flag for flag, value in ours.items() if value]:
        raise UsageError(f"--engine nccl does not support {', '.join(given)}")
