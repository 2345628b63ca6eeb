# SPDX-License-Identifier: Apache-2.0
"""How long the command line takes to start, beside a bare interpreter and typer itself in the versions one could pick,
and how long `run` takes to the end of its first collective.

The commands alternate, so that a slow moment of the machine affects all of them; the first turn warms the file cache.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import time

from benchmarks import machine
from benchmarks.environments import FOLDER, environment
from benchmarks.host_collectives.peers import default_program

APP = pathlib.Path(__file__).parent / "typer_app.py"
FIRST_COLLECTIVE = "run, 2 ranks, to the first row"
TYPERS = ("0.16.1", "0.29.2")


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="start_time", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--railgauge", default=default_program())
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"start_time-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    samples = measure(commands(options.railgauge), options.runs)
    lines: list[dict[str, object]] = [{"kind": "machine", "at": at, "machine": facts, "load": machine.load()}]
    lines += [{"kind": "sample", "command": name, "wall_ms": times} for name, times in samples.items()]
    with output.open("w") as file:
        for line in lines:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "start_time", **line}) + "\n")
    print(f"| start, ms, {options.runs} runs | best | median |\n|---|---|---|")
    for name, times in samples.items():
        print(f"| {name} | {min(times):.0f} | {statistics.median(times):.0f} |")
    print(f"\nsamples in {output}", file=sys.stderr)


def commands(railgauge: str) -> dict[str, list[str]]:
    """The commands, by their name in the table."""
    found = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "railgauge --version": [railgauge, "--version"],
        "railgauge --help": [railgauge, "--help"],
        "railgauge topo --help": [railgauge, "topo", "--help"],
        FIRST_COLLECTIVE: [railgauge, "run", "all_reduce", "-b", "8", "-e", "8", "-n", "1", "-w", "0", "--ranks", "2"],
    }
    for version in TYPERS:
        python = str(environment(f"typer-{version}", f"typer=={version}") / "bin/python")
        found[f"12 commands, typer {version}, --help"] = [python, str(APP), "--help"]
    return found


def measure(started: dict[str, list[str]], runs: int) -> dict[str, list[float]]:
    """Wall times in milliseconds, in the order in which they were taken."""
    samples: dict[str, list[float]] = {name: [] for name in started}
    for turn in range(runs + 1):
        for name, command in started.items():
            taken = to_first_row(command) if name == FIRST_COLLECTIVE else to_end(command)
            if turn:
                samples[name].append(round(taken * 1e3, 2))
    return samples


def to_end(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def to_first_row(command: list[str]) -> float:
    """Seconds until the table's first row is printed: it is verified, its collectives are over."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if line.strip() and not line.startswith("#"))
        taken = time.perf_counter() - begin
        process.stdout.read()
    assert process.returncode == 0
    return taken


if __name__ == "__main__":
    main()
