# SPDX-License-Identifier: Apache-2.0
"""The options that `railgauge link` and `railgauge cluster link` share."""

from math import inf
from typing import Annotated

from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER
from railgauge.collectives.device import Device
from railgauge.collectives.launch.timeout import check_timeout
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.tournament import Pair
from railgauge.collectives.sizes import parse_size
from railgauge.topo.errors import UsageError
from railgauge.transports.fault import parse_fault

HOW, DEMANDS = "How to measure", "Requirements"
MOST_ITERATIONS = 1_000_000
MOST_BYTES = 1 << 40
HOST_BYTES, GPU_BYTES = "8M", "256M"

Bytes = Annotated[
    str,
    option(
        HOW,
        "-b",
        "--bytes",
        metavar="SIZE",
        show_default=f"{HOST_BYTES}; between GPUs {GPU_BYTES}",
        help="Measure bandwidth with messages of this size.",
    ),
]
LatencyBytes = Annotated[
    str, option(HOW, "--latency-bytes", metavar="SIZE", help="Measure latency with messages of this size.")
]
Iterations = Annotated[
    int,
    option(
        HOW,
        "-n",
        "--iters",
        metavar="N",
        min=1,
        max=MOST_ITERATIONS,
        help="Time N messages; for latency 25 times as many, between GPUs 200 times.",
    ),
]
Timeout = Annotated[
    float, option(HOW, "-T", "--timeout", metavar="SECONDS", help="End after this time without progress.")
]
Transport = Annotated[
    str,
    option(
        HOW,
        "--transport",
        metavar="TRANSPORT",
        help="Measure this transport only: SHM, NET/Socket or NET/IB between ranks, P2P or SHM between GPUs.",
    ),
]
OneAtATime = Annotated[
    bool, option(HOW, "--one-at-a-time", help="Measure one pair at a time, so that pairs share no link.")
]
Bisect = Annotated[
    bool, option(HOW, "--bisect", help="Find one slow rank by bisection instead of measuring all pairs.")
]
MinGbps = Annotated[
    float | None,
    option(
        DEMANDS,
        "--min-gbps",
        "--expect-gbps",
        metavar="GBPS",
        show_default=False,
        help="Fail (exit status 4) unless every link reaches this many Gb/s (10^9 bits) in each direction.",
    ),
]
Against = Annotated[
    str | None,
    option(
        DEMANDS,
        "--against",
        metavar="OLD.json",
        help="Compare each link with this older result (of -o OLD.json): below three quarters WARN, below half FAIL.",
    ),
]
Output = Annotated[
    list[str] | None,
    option(ANSWER, "-o", "--output", metavar="FILE", help="Write the result: .json or .csv; repeatable."),
]


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
    save_capture: str | None,
    gpus: bool = False,
) -> LinkJob:
    """Check the options and make a LinkJob of them.

    Raises:
        UsageError: one is invalid, or two contradict each other.
    """
    check_timeout(timeout_s)
    sizes = {"-b": parse_size(size), "--latency-bytes": parse_size(latency_size)}
    for flag, value in sizes.items():
        if not 1 <= value <= MOST_BYTES:
            raise UsageError(f"{flag} {value}: expected a message size from 1 byte to {MOST_BYTES >> 40} TiB")
    others = {"A B": pair, "--transport": transport, "--one-at-a-time": one_at_a_time, "--fault": fault}
    if bisect and (given := [name for name, value in others.items() if value]):
        raise UsageError(f"--bisect measures rings of ranks, not pairs: leave {', '.join(given)} out")
    if gpus and (given := [name for name, value in {"--bisect": bisect, "--fault": fault}.items() if value]):
        raise UsageError(f"{', '.join(given)}: for ranks on the host only; measuring all pairs of GPUs takes seconds")
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
        save_capture=save_capture,
    )


def least_gb_per_s(gbps: float | None) -> float | None:
    """--min-gbps in GB/s.

    Raises:
        UsageError: it is not a finite number, 0 or more.
    """
    if gbps is not None and not 0 <= gbps < inf:
        raise UsageError(f"--min-gbps {gbps:g}: expected a bandwidth in Gb/s, 0 or more")
    return None if gbps is None else gbps / 8


def against_of(path: str | None, *, bisect: bool) -> str | None:
    """--against. UsageError: with --bisect, which measures no pairs."""
    if path and bisect:
        raise UsageError("--bisect measures rings of ranks, not pairs: leave --against out")
    return path or None
