# SPDX-License-Identifier: Apache-2.0
"""All-reduce in host memory: railgauge beside Open MPI, MPICH, Gloo and the limit of memory, in one run.

For each size the programs take turns (A B C D A B C D ...), each starting afresh, so that a slow minute of the machine
hits all of them. A first turn finds how many operations fit the time that each sample may take; it does not count.
"""

import argparse
import datetime
import json
import pathlib
import sys
from typing import TextIO

from benchmarks import machine
from benchmarks.environments import FOLDER, environment
from benchmarks.host_all_reduce import results, table
from benchmarks.host_all_reduce.peers import NAMES, MeasurementError, Peer, Times, default_program, prepare

SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30}
FEWEST, MOST = 5, 100_000  # operations per sample


def main() -> int:
    """Measure, write the JSONL and the plot, print the table."""
    options = arguments()
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"host_all_reduce-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        peers = prepare(options.programs.split(","), options.railgauge, options.ranks)
        with output.open("w") as file:
            write(file, heading(facts, peers, options))
            for size in sizes(options.begin, options.end, options.factor):
                measure_size(peers, size, options, file)
    except MeasurementError as error:
        print(f"host_all_reduce: {error}", file=sys.stderr)
        return 4
    print(table.render(results.read(output)))
    print(f"\nsamples in {output}", file=sys.stderr)
    if not options.no_plot:
        draw(output)
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="host_all_reduce", description=__doc__.splitlines()[0])
    parser.add_argument("-b", "--begin", type=byte_count, default=8, help="smallest size (8)")
    parser.add_argument("-e", "--end", type=byte_count, default="128M", help="largest size (128M)")
    parser.add_argument("-f", "--factor", type=int, default=4, help="from one size to the next (4)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=5, help="samples of each program and size (5)")
    parser.add_argument(
        "--seconds", type=float, default=0.3, help="about how long the operations of a sample take (0.3)"
    )
    parser.add_argument("--programs", default=",".join(NAMES), help="which ones, in this order (%(default)s)")
    parser.add_argument("--railgauge", default=default_program(), help="the railgauge to measure (this environment's)")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="JSONL; the plot goes beside it as SVG")
    parser.add_argument("--no-plot", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.programs.split(",")) - set(NAMES):
        parser.error(f"no such program: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if options.factor < 2 or options.begin < 4 or options.repetitions < 1:
        parser.error("the factor is at least 2, the smallest size 4 bytes, and there is at least one repetition")
    return options


def byte_count(text: str) -> int:
    """A size as nccl-tests takes it: 8, 64K, 128M."""
    unit = SUFFIXES.get(text[-1:].upper(), 1)
    return int(text[:-1] if unit > 1 else text) * unit


def sizes(begin: int, end: int, factor: int) -> list[int]:
    """From begin to end by the factor; each a multiple of a float's 4 bytes."""
    found = []
    while begin <= end:
        found.append(begin // 4 * 4)
        begin *= factor
    return found


def heading(facts: dict[str, object], peers: list[Peer], options: argparse.Namespace) -> dict[str, object]:
    """The first line: machine, versions, method."""
    return {
        "kind": "machine",
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": facts,
        "versions": {peer.name: peer.version for peer in peers},
        "commands": {peer.name: shown(peer, "BYTES", "ITERATIONS", "WARMUP") for peer in peers},
        "environment": {peer.name: peer.env for peer in peers if peer.env},
        "ranks": options.ranks,
        "dtype": "float32",
        "redop": "sum",
        "repetitions": options.repetitions,
        "seconds_per_sample": options.seconds,
    }


def shown(peer: Peer, *words: str) -> str:
    """A peer's command with words for its numbers, and without the folders of this machine."""
    numbers = (101, 102, 103)
    parts = peer.command(*numbers)
    names = dict(zip(map(str, numbers), words, strict=True))
    return " ".join(names.get(part, pathlib.Path(part).name if part.startswith("/") else part) for part in parts)


def measure_size(peers: list[Peer], size: int, options: argparse.Namespace, file: TextIO) -> None:
    """Find the number of operations of each program, then let them take turns."""
    plan = {}
    for peer in peers:
        first = FEWEST if size >= 2**18 else 20 * FEWEST
        plan[peer.name] = operations(peer.measure(size, first, FEWEST), options.seconds)
    for repetition in range(options.repetitions):
        shift = repetition % len(peers)  # nobody is always the one after the same neighbour's heat
        for peer in peers[shift:] + peers[:shift]:
            iterations = plan[peer.name]
            warmup = max(2, iterations // 10)
            load = machine.load()
            times = peer.measure(size, iterations, warmup)
            plan[peer.name] = operations(times, options.seconds)
            sample = {"peer": peer.name, "bytes": size, "repetition": repetition}
            counts = {"iterations": iterations, "warmup": warmup, "load": load}
            write(file, {"kind": "sample", **sample, **counts, **spelled(times, size, options.ranks)})
    print(f"{size} B done", file=sys.stderr)


def operations(times: Times, seconds: float) -> int:
    """How many operations fit the time, out of place and in place together."""
    each = (times.out_of_place_us or 0) + (times.in_place_us or 0)
    return max(FEWEST, min(MOST, int(seconds * 1e6 / each)))


def spelled(times: Times, size: int, ranks: int) -> dict[str, object]:
    """Times and bus bandwidths, as the run document has them."""
    placed = {"out_of_place": times.out_of_place_us, "in_place": times.in_place_us}
    factor = 2 * (ranks - 1) / ranks
    return {
        place: None if us is None else {"time_us": us, "busbw_gb_per_s": size * factor / us / 1e3}
        for place, us in placed.items()
    }


def write(file: TextIO, record: dict[str, object]) -> None:
    """Append one line."""
    file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "host_all_reduce", **record}) + "\n")
    file.flush()


def draw(output: pathlib.Path) -> None:
    """Plot the samples, with matplotlib in an environment of its own."""
    import subprocess

    python = environment("plot", "matplotlib>=3.9") / "bin/python"
    picture = output.with_suffix(".svg")
    subprocess.run([python, "-m", "benchmarks.host_all_reduce.plot", output, picture], check=True)
    print(f"plot in {picture}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
