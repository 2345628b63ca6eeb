# SPDX-License-Identifier: Apache-2.0
"""How long a rendezvous of N ranks and an all-gather of 1 KiB take, beside torch's TCPStore, in one run.

The ranks are threads of a few processes, the same for every program (load.py); rank 0 and its servers have a process of
their own. Each sample is one start of all of them, in a network namespace of its own; the programs take turns.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

from benchmarks import machine
from benchmarks.environments import FOLDER, environment
from benchmarks.host_collectives.peers import TORCH

LOAD = pathlib.Path(__file__).with_name("load.py")
ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"']
"""torch asks the name service for the address of every client; in a namespace without one the look-up fails at once,
instead of after seconds."""


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="rendezvous", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--bytes", type=int, default=1024)
    parser.add_argument("--processes", type=int, default=8, help="processes for the threads of all ranks except rank 0")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--programs", default="railgauge,torch-libuv,torch-threads,floor")
    parser.add_argument("--railgauge", default=sys.executable, help="the Python with railgauge")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"rendezvous-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    samples = measure(options)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    asked = {"ranks": options.ranks, "bytes": options.bytes, "processes": options.processes, "torch": TORCH}
    with output.open("w") as file:
        for line in [{"kind": "machine", "at": at, "machine": facts, **asked}, *samples]:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "rendezvous", **line}) + "\n")
    print_table(options, samples)
    print(f"\nsamples in {output}", file=sys.stderr)


def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """All samples in the order in which they were taken; the first program changes from turn to turn."""
    pythons = {program: python_of(program, options.railgauge) for program in options.programs.split(",")}
    programs, samples = list(pythons), []
    for turn in range(options.runs):
        for program in programs[turn % len(programs) :] + programs[: turn % len(programs)]:
            load = machine.load()
            arguments = [program, options.ranks, options.bytes, options.processes]
            found = run([pythons[program], "-P", str(LOAD), *map(str, arguments)])
            samples.append({"kind": "sample", "program": program, "turn": turn, "load": load, **found})
            print(f"turn {turn}: {program} {found}", file=sys.stderr)
    return samples


def python_of(program: str, railgauge: str) -> str:
    """The interpreter that has what the program needs."""
    return str(environment("gloo", TORCH, "numpy") / "bin/python") if program.startswith("torch") else railgauge


def run(command: list[str]) -> dict[str, object]:
    """One sample; a program whose data is wrong has ended with an error."""
    quiet = os.environ | {"TORCH_CPP_LOG_LEVEL": "ERROR"}
    result = subprocess.run([*ALONE, *command], check=False, capture_output=True, text=True, env=quiet, timeout=300)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {result.stderr[-2000:]}")
    found: dict[str, object] = json.loads(result.stdout)
    return found


def print_table(options: argparse.Namespace, samples: list[dict[str, object]]) -> None:
    """Medians and spreads."""
    what = f"{options.ranks} ranks, {options.bytes} B each, {options.runs} turns"
    print(f"| {what} | joined, s | all-gather done, s | best | worst |")
    print("|---|---|---|---|---|")
    for program in options.programs.split(","):
        mine = [sample for sample in samples if sample["program"] == program]
        met, done = ([float(str(sample[name])) for sample in mine] for name in ("met_s", "done_s"))
        medians = f"{statistics.median(met):.2f} | {statistics.median(done):.2f}"
        print(f"| {program} | {medians} | {min(done):.2f} | {max(done):.2f} |")


if __name__ == "__main__":
    main()
