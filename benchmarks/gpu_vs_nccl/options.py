# SPDX-License-Identifier: Apache-2.0
"""The command line of this benchmark."""

import argparse
import pathlib

from benchmarks.gpu_vs_nccl.contenders import CONTENDERS
from benchmarks.gpu_vs_nccl.results import OWN_SYMMETRIC
from benchmarks.host_collectives.options import byte_count

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall")
FEW_SIZES = (8 << 10, 128 << 10, 2 << 20, 32 << 20, 512 << 20)
"""Of the collectives other than all_reduce."""


def arguments(description: str) -> argparse.Namespace:
    """Read and check it; `sizes` are by collective."""
    parser = argparse.ArgumentParser(prog="gpu_vs_nccl", description=description)
    add = parser.add_argument
    add("--gpus", type=int, default=2, help="number of GPUs, one process each (%(default)s)")
    add("--collectives", default=",".join(COLLECTIVES), help="%(default)s")
    add("-b", "--begin", type=byte_count, default=8, help="smallest size of all_reduce (8)")
    add("-e", "--end", type=byte_count, default=1 << 30, help="largest size of all (1G)")
    add("-f", "--factor", type=int, default=4, help="factor between sizes (%(default)s)")
    add("--contenders", default=",".join(CONTENDERS), help="%(default)s")
    add("--repetitions", type=int, default=5, help="samples of each contender, size and kind of launch (%(default)s)")
    add("--seconds", type=float, default=0.02, help="approximate duration of a sample's operations (%(default)s)")
    add("--timeout", type=float, default=30, help="seconds for one step: slower contenders are left out (%(default)s)")
    add("--seed", type=int, default=1, help="seed of the order of the contenders (%(default)s)")
    add("--p2p-off", action="store_true", help="set NCCL_P2P_DISABLE=1: through memory of the host")
    add(
        "--two-hosts",
        action="store_true",
        help="set NCCL_HOSTID: half of the GPUs on another host, over sockets",
    )
    add("-o", "--output", type=pathlib.Path, help="JSONL; the table goes to stdout, a plot beside it as SVG")
    add(
        "--no-plot",
        action="store_true",
        help="do not plot (plot.py draws it elsewhere)",
    )
    options = parser.parse_args()
    options.collectives = options.collectives.split(",")
    options.contenders = options.contenders.split(",")
    if unknown := {*options.collectives} - {*COLLECTIVES} | {*options.contenders} - {*CONTENDERS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; --help lists the choices")
    if options.p2p_off or options.two_hosts:  # there our engine has no registered memory
        options.contenders = [name for name in options.contenders if name != OWN_SYMMETRIC]
    if options.p2p_off:  # NCCL 2.28's symmetric kernels go over NVLink all the same
        options.contenders = [name for name in options.contenders if name != "nccl-symmetric"]
    if options.gpus < 2 or options.factor < 2 or options.begin < 4 or options.repetitions < 1:
        parser.error("at least 2 GPUs, a factor of 2, sizes of 4 bytes and 1 repetition are needed")
    if options.two_hosts and options.gpus % 2:
        parser.error("--two-hosts needs an even number of GPUs")
    options.sizes = {name: sizes(name, options.begin, options.end, options.factor) for name in options.collectives}
    return options


def sizes(collective: str, begin: int, end: int, factor: int) -> list[int]:
    """From begin to end by the factor, and the end itself; of other collectives a few, as far as the end."""
    if collective != "all_reduce":
        return [size for size in FEW_SIZES if begin <= size <= end]
    found = []
    while begin < end:
        found.append(begin // 4 * 4)
        begin *= factor
    return [*found, end // 4 * 4]
