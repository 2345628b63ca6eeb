# SPDX-License-Identifier: Apache-2.0
"""How long a machine's description takes: `topo dump` of a capture beside lstopo, and the paths of large machines.

The programs alternate, so that a slow moment of the machine affects all of them; the first turn warms the file cache.
Paths are computed in this process, after its imports. Every answer is checked.
"""

import argparse
import datetime
import gc
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks import machine
from benchmarks.environments import FOLDER
from benchmarks.host_collectives.peers import default_program
from benchmarks.topo.machines import domain_72, node_16
from benchmarks.topo.trees import write_both

from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.xml import topology_file

PYTHON, DUMP, LSTOPO = "python -c pass", "railgauge topo dump --from CAPTURE", "lstopo --of xml"
GPUS, NICS = 8, 12  # what both must show of the machine: its GPUs and the ports of its NICs
THREADS = 224  # hardware threads in lstopo's answer
Samples = dict[str, list[float]]
Program = tuple[list[str], dict[str, str], Callable[[str], bool]]  # command, environment, what its output has to hold


def main() -> None:
    """Measure, write the JSONL, print the tables."""
    parser = argparse.ArgumentParser(prog="topo", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--railgauge", default=default_program())
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    facts = machine.describe() | {"lstopo": machine.first_line("lstopo-no-graphics", "--version")}
    output = options.output or FOLDER / "results" / f"topo-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    lines: list[dict[str, object]] = [{"kind": "machine", "at": at, "machine": facts, "load": machine.load()}]
    started = programs(options.railgauge)
    samples = measure_programs(started, options.runs) | measure_paths(options.runs)
    lines += [{"kind": "sample", "what": what, "wall_ms": times} for what, times in samples.items()]
    with output.open("w") as file:
        for line in lines:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "topo", **line}) + "\n")
    print_table(samples, options.runs)
    print(f"\nsamples in {output}", file=sys.stderr)


def programs(railgauge: str) -> dict[str, Program]:
    """The commands, by their name in the table."""
    archive, root = write_both(FOLDER / "topo")
    found: dict[str, Program] = {
        PYTHON: ([sys.executable, "-c", "pass"], {}, lambda out: out == ""),
        DUMP: ([railgauge, "topo", "dump", "--from", str(archive)], {}, dump_is_whole),
    }
    if shutil.which("lstopo-no-graphics"):
        command = ["lstopo-no-graphics", "--of", "xml", "--filter", "io:all"]
        found[LSTOPO] = (command, {"HWLOC_FSROOT": str(root), "HWLOC_COMPONENTS": "linux,stop"}, lstopo_is_whole)
    else:
        print("lstopo is not installed: apt-get install hwloc-nox", file=sys.stderr)
    return found


def dump_is_whole(out: str) -> bool:
    """Whether railgauge found all GPUs and NICs."""
    return (out.count("<gpu "), out.count("<net ")) == (GPUS, NICS)


def lstopo_is_whole(out: str) -> bool:
    """Whether hwloc found all GPUs (class 0302), NICs (0200, 0207) and hardware threads."""
    nics = out.count('pci_type="0200') + out.count('pci_type="0207')
    return (out.count('pci_type="0302'), nics, out.count('type="PU"')) == (GPUS, NICS, THREADS)


def measure_programs(started: dict[str, Program], runs: int) -> Samples:
    """Wall times in milliseconds, in the order in which they were taken."""
    samples: Samples = {name: [] for name in started}
    for turn in range(runs + 1):
        for name, (command, environment, is_whole) in started.items():
            begin = time.perf_counter()
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
            wall = (time.perf_counter() - begin) * 1e3
            if not is_whole(done.stdout):
                raise SystemExit(f"{name} did not describe the whole machine: {done.stderr.strip()[-300:]}")
            if turn:
                samples[name].append(round(wall, 2))
    return samples


def measure_paths(runs: int) -> Samples:
    """All paths of two large machines: from the System to every row of `topo paths`."""
    machines = {
        "paths of 16 GPUs and 32 NICs": (build_system(topology_file.loads(node_16())), 48 * (48 + 2 + 1)),
        "paths of 72 GPUs and 72 NICs": (build_system(topology_file.loads(domain_72())), 144 * (144 + 36 + 1)),
    }
    samples: Samples = {name: [] for name in machines}
    for turn in range(runs + 1):
        for name, (system, rows) in machines.items():
            gc.collect()
            begin = time.perf_counter()
            found = list(paths(system))
            wall = (time.perf_counter() - begin) * 1e3
            if len(found) != rows:
                raise SystemExit(f"{name}: {len(found)} rows, not {rows}")
            if turn:
                samples[name].append(round(wall, 2))
    return samples


def print_table(samples: Samples, runs: int) -> None:
    """Best and median of each, and the dump over the start of Python beside lstopo."""
    print(f"| ms, {runs} runs | best | median |\n|---|---|---|")
    for name, times in samples.items():
        print(f"| {name} | {min(times):.1f} | {statistics.median(times):.1f} |")
    start, dump = statistics.median(samples[PYTHON]), statistics.median(samples[DUMP])
    print(f"\n{DUMP} over the start of Python: {dump - start:.1f} ms (at most 150)")
    if LSTOPO in samples:
        print(f"{LSTOPO} plus that start: {statistics.median(samples[LSTOPO]) + start:.1f} ms")


if __name__ == "__main__":
    main()
