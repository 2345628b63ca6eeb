# SPDX-License-Identifier: Apache-2.0
"""The command line of this benchmark."""

import argparse
import pathlib

from benchmarks.host_collectives.collectives import COLLECTIVES
from benchmarks.host_collectives.peers import ALL, default_names, default_program

SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30}
SIZES = [8, *(2**power for power in range(10, 28, 2)), 2**27]
COMPARED = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall")


def arguments(description: str) -> argparse.Namespace:
    """Read and check it."""
    parser = argparse.ArgumentParser(prog="host_collectives", description=description)
    add = parser.add_argument
    add("--collectives", default=",".join(COMPARED), help=f"or all: {', '.join(COLLECTIVES)} (%(default)s)")
    add("-b", "--begin", type=byte_count, default=8, help="smallest size, in nccl-tests' bytes (8)")
    add("-e", "--end", type=byte_count, default="128M", help="largest size (128M)")
    add("-f", "--factor", type=int, help="factor between sizes (8, 1K, then 4, and 128M)")
    add("--ranks", default="2", help="number of ranks; a list gives a curve: 2,4,8 (%(default)s)")
    add("--hosts", type=int, choices=(1, 2), default=1, help="2: two network namespaces, connected by a veth pair (1)")
    add(
        "--streams",
        type=int,
        default=2,
        help="TCP streams in each direction for the floor of two hosts (2)",
    )
    add("--repetitions", type=int, default=5, help="samples of each program and size (5)")
    add("--seconds", type=float, default=0.3, help="approximate duration of a sample's operations (0.3)")
    add("--programs", help=f"programs to measure, in this order, from {', '.join(ALL)} (all but openmpi-system)")
    add("--railgauge", default=default_program(), help="the railgauge to measure (this environment's)")
    add("--flip", action="store_true", help="damage a bit before every check: fails unless every program detects it")
    add("-o", "--output", type=pathlib.Path, help="JSONL; the plots go beside it as SVG")
    add("--no-plot", action="store_true")
    options = parser.parse_args()
    options.collectives = list(COLLECTIVES) if options.collectives == "all" else options.collectives.split(",")
    options.programs = options.programs.split(",") if options.programs else list(default_names(options.hosts))
    if unknown := {*options.programs} - {*ALL} | {*options.collectives} - {*COLLECTIVES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; --help lists the choices")
    try:
        options.ranks = [int(number) for number in options.ranks.split(",")]
    except ValueError:
        parser.error(f"--ranks takes numbers: {options.ranks}")
    if min(options.ranks) < 2 or any(ranks % options.hosts for ranks in options.ranks):
        parser.error("at least 2 ranks are needed, the same number on each host")
    if (options.factor is not None and options.factor < 2) or options.begin < 4 or options.repetitions < 1:
        parser.error("a factor of at least 2, sizes of at least 4 bytes and at least one repetition are needed")
    options.sizes = sizes(options.begin, options.end, options.factor)
    return options


def byte_count(text: str) -> int:
    """A size as nccl-tests takes it: 8, 64K, 128M."""
    unit = SUFFIXES.get(text[-1:].upper(), 1)
    return int(text[:-1] if unit > 1 else text) * unit


def sizes(begin: int, end: int, factor: int | None) -> list[int]:
    """From begin to end by the factor, or the usual ones between them; each a multiple of a float's 4 bytes."""
    if factor is None:
        return [size for size in SIZES if begin <= size <= end] or [begin // 4 * 4]
    found = []
    while begin <= end:
        found.append(begin // 4 * 4)
        begin *= factor
    return found
