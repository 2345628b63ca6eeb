# SPDX-License-Identifier: Apache-2.0
"""The flags that `railgauge link` and `railgauge cluster link` share."""

from math import inf
from typing import Annotated

import typer

from railgauge.cli.ranks_command import option
from railgauge.collectives.device import Device
from railgauge.collectives.launch.timeout import check_timeout
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.tournament import Pair
from railgauge.collectives.sizes import parse_size
from railgauge.topo.errors import UsageError
from railgauge.transports.fault import parse_fault

WHAT, HOW, DEMANDS, ANSWER = "What", "How to measure", "Demands", "Answer"
MOST_ITERATIONS = 1_000_000
MOST_BYTES = 1 << 40
HOST_BYTES, GPU_BYTES = "8M", "256M"
BYTES_HELP = "size of the messages that bandwidth is measured with"

Bytes = Annotated[str, option(HOW, "-b", "--bytes", help=BYTES_HELP)]
LatencyBytes = Annotated[str, option(HOW, "--latency-bytes", help="size of those that latency is measured with")]
ITERATIONS_HELP = "timed messages; of short ones 25 times as many, between GPUs 200"
Iterations = Annotated[int, option(HOW, "-n", "--iters", min=1, max=MOST_ITERATIONS, help=ITERATIONS_HELP)]
Timeout = Annotated[float, option(HOW, "-T", "--timeout", help="seconds without progress that end it")]
Transport = Annotated[str, option(WHAT, "--transport", help="only this: SHM, NET/IB, NET/Socket; of GPUs P2P, SHM")]
OneAtATime = Annotated[bool, option(HOW, "--one-at-a-time", help="one pair after another: none shares anything")]
Bisect = Annotated[bool, option(HOW, "--bisect", help="find one slow rank by halves, in place of measuring all pairs")]
FaultOption = Annotated[str, option(HOW, "--fault", help="inject flip|stall:rank=R,channel=C,message=M,seconds=S")]
MinGbps = Annotated[
    float | None,
    option(
        DEMANDS,
        "--min-gbps",
        "--expect-gbps",
        show_default=False,
        help="every link reaches so many Gb/s (10^9 bits) each way; else exit status 4",
    ),
]
Output = Annotated[
    list[str] | None, typer.Option("-o", metavar="FILE", help="write the result: .json or .csv", rich_help_panel=ANSWER)
]
AsJson = Annotated[bool, option(ANSWER, "--json", help="print one JSON document")]


def link_job(
    *,
    size: str,
    latency_size: str,
    iterations: int,
    timeout_s: float,
    transport: str,
    pair: Pair | None,
    one_at_a_time: bool,
    bisect: bool,
    fault: str,
    gpus: bool = False,
) -> LinkJob:
    """The flags, read and checked.

    Raises:
        UsageError: one is wrong, or two contradict each other.
    """
    check_timeout(timeout_s)
    sizes = {"-b": parse_size(size), "--latency-bytes": parse_size(latency_size)}
    for flag, value in sizes.items():
        if not 1 <= value <= MOST_BYTES:
            raise UsageError(f"{flag} {value}: a message has from 1 byte to {MOST_BYTES >> 40} TiB")
    others = {"A B": pair, "--transport": transport, "--one-at-a-time": one_at_a_time, "--fault": fault}
    if bisect and (given := [name for name, value in others.items() if value]):
        raise UsageError(f"--bisect measures rings of ranks, and no pairs: leave {', '.join(given)} out")
    if gpus and (given := [name for name, value in {"--bisect": bisect, "--fault": fault}.items() if value]):
        raise UsageError(f"{', '.join(given)}: for ranks on the host, not for GPUs: all pairs of these take seconds")
    return LinkJob(
        device=Device.CUDA if gpus else Device.CPU,
        bytes=sizes["-b"],
        latency_bytes=sizes["--latency-bytes"],
        iterations=iterations,
        timeout_s=timeout_s,
        transport=transport or None,
        pair=pair,
        one_at_a_time=one_at_a_time,
        bisect=bisect,
        fault=parse_fault(fault) if fault else None,
    )


def least_gb_per_s(gbps: float | None) -> float | None:
    """--min-gbps in GB/s.

    Raises:
        UsageError: it is no finite number from 0.
    """
    if gbps is not None and not 0 <= gbps < inf:
        raise UsageError(f"--min-gbps {gbps:g}: a bandwidth is a number of Gb/s from 0")
    return None if gbps is None else gbps / 8
