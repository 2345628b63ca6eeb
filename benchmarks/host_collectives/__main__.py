# SPDX-License-Identifier: Apache-2.0
"""Collectives in host memory: railgauge beside Open MPI, MPICH, Gloo and the memory limit, in one run.

For each collective and size the programs alternate (A B C D A B C D ...), each restarted, so that a slow minute of the
machine affects all of them. A first turn finds how many operations fit the time of a sample; it is not counted.
"""

import argparse
import dataclasses
import datetime
import json
import pathlib
import signal
import subprocess
import sys
from typing import TextIO

from benchmarks import machine
from benchmarks.environments import FOLDER, environment
from benchmarks.host_collectives import results, table
from benchmarks.host_collectives.collectives import COLLECTIVES
from benchmarks.host_collectives.measurement import (
    TIMEOUT_S,
    Job,
    MeasurementError,
    MissingError,
    Peer,
    Times,
    WrongDataError,
)
from benchmarks.host_collectives.options import arguments
from benchmarks.host_collectives.peers import Place, prepare
from benchmarks.host_collectives.two_hosts import Hosts

FEWEST, MOST = 5, 100_000  # operations per sample


def main() -> int:
    """Measure, write the JSONL and the plots, print the tables."""
    options = arguments(__doc__.splitlines()[0])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    try:
        with Hosts.made(options.hosts) as hosts:
            peers = {
                n: prepare(options.programs, options.railgauge, Place(n, hosts, options.streams)) for n in options.ranks
            }
            if options.flip:
                return see_flips(peers, options)
            output = record(peers, options)
    except (MeasurementError, subprocess.CalledProcessError) as error:
        print(f"host_collectives: {error}", file=sys.stderr)
        return 4
    print(table.render(results.read(output)))
    print(f"\nsamples in {output}", file=sys.stderr)
    if not options.no_plot:
        draw(output)
    return 0


def record(peers: dict[int, list[Peer]], options: argparse.Namespace) -> pathlib.Path:
    """Measure everything; returns the path of the samples."""
    facts = machine.describe()
    hosts = "-2-hosts" if options.hosts > 1 else ""
    output = options.output or FOLDER / "results" / f"host_collectives-{machine.name(facts)}{hosts}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w") as file:
        write(file, heading(facts, peers, options))
        for collective in options.collectives:
            for ranks in options.ranks:
                measure_collective(peers[ranks], Job(collective, 0, ranks, 0, 0), options, file)
    return output


def heading(facts: dict[str, object], peers: dict[int, list[Peer]], options: argparse.Namespace) -> dict[str, object]:
    """The first line: machine, versions, method."""
    each = peers[options.ranks[0]]
    return {
        "kind": "machine",
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": facts,
        "versions": {peer.name: peer.version for peer in each},
        "commands": {ranks: {peer.name: shown(peer, ranks) for peer in of} for ranks, of in peers.items()},
        "environment": {peer.name: peer.env for peer in each if peer.env},
        "collectives": options.collectives,
        "ranks": options.ranks,
        "hosts": options.hosts,
        "dtype": "float32",
        "redop": "sum",
        "repetitions": options.repetitions,
        "seconds_per_sample": options.seconds,
    }


def shown(peer: Peer, ranks: int) -> str:
    """A peer's first command with placeholders for what varies, and without the directories of this machine."""
    job = Job("all_reduce", 4004, ranks, 102, 103)
    words = {"all_reduce": "COLLECTIVE", "4004": "BYTES", "1001": "COUNT", "102": "ITERATIONS", "103": "WARMUP"}
    parts = peer.commands(job, pathlib.Path("FOLDER"))[0]
    return " ".join(words.get(part, pathlib.Path(part).name if part.startswith("/") else part) for part in parts)


def measure_collective(peers: list[Peer], about: Job, options: argparse.Namespace, file: TextIO) -> None:
    """All sizes of a collective; a program that cannot do one is left out from there on, with the reason."""
    for size in options.sizes:
        job = dataclasses.replace(about, size=size)
        if not job.count:
            continue  # nothing is left of it for each rank
        missing = take_turns([peer for peer in peers if not peer.why_not(job.collective, size)], job, options, file)
        for peer, reason in missing.items():
            write(file, {"kind": "missing", **described(peer, job, options), "reason": reason})
            print(f"{peer} {job.collective}: {reason}", file=sys.stderr)
        peers = [peer for peer in peers if peer.name not in missing]
        print(f"{job.collective}, {job.ranks} ranks, {size} B done", file=sys.stderr)


def take_turns(peers: list[Peer], job: Job, options: argparse.Namespace, file: TextIO) -> dict[str, str]:
    """The samples of one size, written one by one; returns why programs could not continue.

    The first turn finds how many operations each can do in the time, and does not count.
    """
    plan, missing = {peer.name: FEWEST if job.size >= 2**18 else 20 * FEWEST for peer in peers}, {}
    for repetition in range(-1, options.repetitions):
        shift = max(repetition, 0) % max(1, len(peers))  # no program always runs after the same other one
        for peer in peers[shift:] + peers[:shift]:
            now = dataclasses.replace(job, iterations=plan[peer.name], warmup=max(2, plan[peer.name] // 10))
            load = machine.load()
            try:
                times = peer.measure(now, TIMEOUT_S / 2 if repetition < 0 else TIMEOUT_S)
            except MissingError as error:
                missing[peer.name] = str(error)
                continue
            plan[peer.name] = operations(times, options.seconds)
            if repetition >= 0:
                counts = {"iterations": now.iterations, "warmup": now.warmup, "load": load}
                sample = {**described(peer.name, job, options), "repetition": repetition, **counts}
                write(file, {"kind": "sample", **sample, **times.facts, **spelled(times, job)})
        peers = [peer for peer in peers if peer.name not in missing]
    return missing


def described(peer: str, job: Job, options: argparse.Namespace) -> dict[str, object]:
    """What a line is about."""
    what = {"peer": peer, "collective": job.collective, "ranks": job.ranks, "hosts": options.hosts}
    return {**what, "bytes": job.size, "count": job.count}


def operations(times: Times, seconds: float) -> int:
    """How many operations fit the time, out of place and in place together."""
    each = (times.out_of_place_us or 0) + (times.in_place_us or 0)
    return max(FEWEST, min(MOST, int(seconds * 1e6 / max(each, 1e-3))))


def spelled(times: Times, job: Job) -> dict[str, object]:
    """Times and bus bandwidths, as the run document has them."""
    placed = {"out_of_place": times.out_of_place_us, "in_place": times.in_place_us}
    factor = COLLECTIVES[job.collective].factor(job.ranks)
    return {
        place: None if us is None else {"time_us": us, "busbw_gb_per_s": job.size * factor / max(us, 1e-6) / 1e3}
        for place, us in placed.items()
    }


def see_flips(peers: dict[int, list[Peer]], options: argparse.Namespace) -> int:
    """Damage one bit in every program and collective: 0 if each of them says that its data is wrong."""
    unseen = 0
    for collective in options.collectives:
        job = Job(collective, max(options.begin, 2**10), options.ranks[0], FEWEST, FEWEST, flip=True)
        for peer in peers[job.ranks]:
            if reason := peer.why_not(collective, job.size):
                print(f"{peer.name} {collective}: not tested: {reason}")
                continue
            try:
                peer.measure(job)
                unseen += 1
                print(f"{peer.name} {collective}: NOT SEEN")
            except WrongDataError:
                print(f"{peer.name} {collective}: seen")
            except MissingError as error:
                print(f"{peer.name} {collective}: not tested: {error}")
    return 4 if unseen else 0


def write(file: TextIO, record: dict[str, object]) -> None:
    """Append one line."""
    file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "host_collectives", **record}) + "\n")
    file.flush()


def draw(output: pathlib.Path) -> None:
    """Plot the samples, with matplotlib in an environment of its own."""
    python = environment("plot", "matplotlib>=3.9") / "bin/python"
    subprocess.run([python, "-m", "benchmarks.host_collectives.plot", output, output.with_suffix(".svg")], check=True)


if __name__ == "__main__":
    sys.exit(main())
