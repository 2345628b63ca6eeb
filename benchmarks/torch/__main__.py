# SPDX-License-Identifier: Apache-2.0
"""railgauge beside Gloo or NCCL through torch.distributed: start, new_group, all_reduce, steps of training, decoding.

On CPU tensors beside Gloo, with `--device cuda` beside NCCL. Run it with a Python that has both railgauge and torch
(`PYTHONPATH=build/peers/torch/lib/python3.11/site-packages`). The ranks are processes of this machine (ranks.py,
gpu_ranks.py), started for each turn; the back ends take turns, each first in every second one. Steps of training on
GPUs have processes with both (training.py).
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
from typing import Any

from benchmarks import machine

FOLDER = pathlib.Path(__file__).parent
PEERS = {"cpu": "gloo", "cuda": "nccl"}
RANKS = {"cpu": "ranks", "cuda": "gpu_ranks"}
TRAINING = "training"
"""The ranks with both back ends, on GPUs."""
UP_TO_256_KIB = (8, 1 << 10, 32 << 10, 256 << 10)
GOALS = {
    "cpu": {"start_ms": 3.0, "all_reduce_8_us": 0.5, "all_reduce_1048576_us": 0.35, "ddp_step_ms": 0.9},
    "cuda": {"ddp_step_ms": 1.0, "fsdp2_step_ms": 1.0, "decode_step_ms": 0.9}
    | {f"all_reduce_{size}_us": 0.5 for size in UP_TO_256_KIB}
    | {f"all_reduce_{size}_in_graph_us": 0.7 for size in UP_TO_256_KIB},
}
"""How much of the peer's time railgauge may take; new_group has 5 ms."""
ELSEWHERE = {"cpu": "", "cuda": "1.02"}
"""The goal of what is not named there."""
NEW_GROUP_MS = 5.0


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="torch", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=PEERS, default="cpu")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    lines: list[dict[str, object]] = [{"kind": "machine", "at": at, "machine": facts, "ranks": options.ranks}]
    samples = list(measure(options.device, options.ranks, options.turns))
    with output.open("w") as file:
        for line in [*lines, *samples]:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "torch", **line}) + "\n")
    print_table(options.device, samples)
    print(f"\nsamples in {output}", file=sys.stderr)


def measure(device: str, ranks: int, turns: int) -> Iterable[dict[str, object]]:
    """A sample of each back end for each turn, with the machine's load before it."""
    for turn in range(turns):
        steps = start(TRAINING, "", ranks) if device == "cuda" else {}
        for backend in ("railgauge", PEERS[device])[:: 1 if turn % 2 else -1]:
            load = machine.load()
            found = start(RANKS[device], backend, ranks) | steps.get(backend, {})
            print(f"turn {turn}: {backend} {found}", file=sys.stderr)
            yield {"kind": "sample", "backend": backend, "turn": turn, "load": load, **found}


def start(program: str, backend: str, ranks: int) -> dict[str, Any]:
    """What rank 0 of a program of this folder measured; `backend` is its argument."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1]), "WORLD_SIZE": str(ranks)}
    command = [sys.executable, "-m", f"benchmarks.torch.{program}", backend]
    environ = os.environ | where | {"OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(command, cwd=FOLDER.parents[1], env=environ | {"RANK": str(rank)}, stdout=subprocess.PIPE)
        for rank in range(ranks)
    ]
    printed = [process.communicate(timeout=600)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"{program} {backend}: a rank failed")
    found: dict[str, Any] = json.loads(printed[0])
    return found


def print_table(device: str, samples: list[dict[str, object]]) -> None:
    """Medians, the median of the turns' ratios, and the goal."""
    peer = PEERS[device]
    print(f"| | railgauge | {peer} | ratio | goal |\n|---|---|---|---|---|")
    for what in (name for name in samples[0] if name.endswith(("_us", "_ms"))):
        ours, theirs = (
            {one["turn"]: float(str(one[what])) for one in samples if one["backend"] == backend}
            for backend in ("railgauge", peer)
        )
        ratio = statistics.median(ours[turn] / theirs[turn] for turn in ours)
        goal = f"{NEW_GROUP_MS:g} ms" if what == "new_group_ms" else str(GOALS[device].get(what, ELSEWHERE[device]))
        medians = (f"{statistics.median(one.values()):.4g}" for one in (ours, theirs))
        print(f"| {what} | {' | '.join(medians)} | {ratio:.2f} | {goal} |")


if __name__ == "__main__":
    main()
