# SPDX-License-Identifier: Apache-2.0
"""railgauge beside Gloo through torch.distributed, on CPU tensors: start, new_group, all_reduce, a step of DDP.

Run with a Python that has both (`PYTHONPATH=build/peers/torch/lib/python3.11/site-packages`). The ranks are processes
of this machine (ranks.py), started for each turn; the back ends take turns, each first in every second one.
"""

import argparse
import datetime
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterable

from benchmarks import machine

FOLDER = pathlib.Path(__file__).parent
BACKENDS = ("railgauge", "gloo")
GOALS = {"start_ms": 3.0, "all_reduce_8_us": 0.5, "all_reduce_1048576_us": 0.35, "ddp_step_ms": 0.9}
"""How much of Gloo's time railgauge may take; new_group has 5 ms."""
NEW_GROUP_MS = 5.0


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="torch", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    lines: list[dict[str, object]] = [{"kind": "machine", "at": at, "machine": facts, "ranks": options.ranks}]
    samples = list(measure(options.ranks, options.turns))
    with output.open("w") as file:
        for line in [*lines, *samples]:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "torch", **line}) + "\n")
    print_table(samples)
    print(f"\nsamples in {output}", file=sys.stderr)


def measure(ranks: int, turns: int) -> Iterable[dict[str, object]]:
    """A sample of each back end for each turn, with the machine's load before it."""
    for turn in range(turns):
        for backend in BACKENDS if turn % 2 else reversed(BACKENDS):
            load = machine.load()
            found = start(backend, ranks)
            print(f"turn {turn}: {backend} {found}", file=sys.stderr)
            yield {"kind": "sample", "backend": backend, "turn": turn, "load": load, **found}


def start(backend: str, ranks: int) -> dict[str, float]:
    """What rank 0 measured."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1]), "WORLD_SIZE": str(ranks)}
    command = [sys.executable, str(FOLDER / "ranks.py"), backend]
    environ = os.environ | where | {"OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(command, env=environ | {"RANK": str(rank)}, stdout=subprocess.PIPE) for rank in range(ranks)
    ]
    printed = [process.communicate(timeout=600)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"{backend}: a rank failed")
    found: dict[str, float] = json.loads(printed[0])
    return found


def print_table(samples: list[dict[str, object]]) -> None:
    """Medians, their ratio, and the goal."""
    print("| | railgauge | Gloo | ratio | goal |\n|---|---|---|---|---|")
    for what in (name for name in samples[0] if name.endswith(("_us", "_ms"))):
        ours, gloo = (
            statistics.median(float(str(one[what])) for one in samples if one["backend"] == backend)
            for backend in BACKENDS
        )
        goal = f"{NEW_GROUP_MS:g} ms" if what == "new_group_ms" else f"{GOALS[what]:g}" if what in GOALS else ""
        print(f"| {what} | {ours:.4g} | {gloo:.4g} | {ours / gloo:.2f} | {goal} |")


if __name__ == "__main__":
    main()
