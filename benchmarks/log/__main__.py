# SPDX-License-Identifier: Apache-2.0
"""How fast `log explain` reads large logs, and in how much memory, beside grep and a plain loop over lines in Python.

The programs alternate on one core each, so that a slow moment of the machine affects all of them. CPU time is compared.
"""

import argparse
import datetime
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from benchmarks import machine
from benchmarks.environments import FOLDER
from benchmarks.log.jobs import RANKS, lines

KINDS = ("train", "alltoall")
LOOP = "import sys\nfor line in open(sys.argv[1], 'rb'): 'NCCL' if b'NCCL' in line else ''"
COMMANDS = {
    "railgauge": [sys.executable, "-P", "-m", "railgauge", "log", "explain", "--json"],
    "grep -c": ["grep", "-c", "-E", "NCCL (INFO|WARN)"],
    "loop over lines": [sys.executable, "-c", LOOP],
}


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="log", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"log-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    records: list[dict[str, object]] = [{"kind": "machine", "at": at, "machine": facts, "load": machine.load()}]
    with tempfile.TemporaryDirectory(dir=FOLDER if FOLDER.exists() else None) as folder:
        for kind in KINDS:
            path = pathlib.Path(folder) / f"{kind}.txt"
            size = write(path, kind, options.megabytes * 10**6)
            for turn, (name, command) in itertools.product(range(options.turns), COMMANDS.items()):
                cpu_s, peak_mib, answer = cost([*command, str(path)])
                if name == "railgauge":
                    verify(answer, kind)
                records.append(
                    {"kind": "sample", "log": kind, "bytes": size, "program": name, "turn": turn}
                    | {"cpu_s": round(cpu_s, 3), "mb_per_s": round(size / cpu_s / 1e6, 1), "peak_mib": peak_mib}
                    | {"load": machine.load()}
                )
            path.unlink()
    with output.open("w") as file:
        for record in records:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "log", **record}) + "\n")
    show(records[1:])
    print(f"\nsamples in {output}", file=sys.stderr)


def write(path: pathlib.Path, kind: str, size: int) -> int:
    """A log of about that many bytes."""
    written = 0
    with path.open("w") as file:
        for line in lines(kind):
            written += file.write(line + "\n")
            if written >= size:
                return written
    return written


def cost(command: list[str]) -> tuple[float, int, bytes]:
    """CPU seconds and peak memory (MiB) of a program, and what it prints."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, command
        out.seek(0)
        return used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, out.read()


def verify(answer: bytes, kind: str) -> None:
    """The verdict is that of the job, from the first line to the last."""
    found = json.loads(answer)
    assert (found["rdma"], found["gdr"], len(found["ranks"]), found["findings"]) == ("yes", "yes", RANKS, [])
    assert (found["connections_beyond"] > 0) == (kind == "alltoall"), found["connections_beyond"]


def show(samples: list[dict[str, object]]) -> None:
    """The medians."""
    print("| log | program | MB/s of CPU time | peak MiB |\n|---|---|---|---|")
    for kind, name in itertools.product(KINDS, COMMANDS):
        mine = [sample for sample in samples if (sample["log"], sample["program"]) == (kind, name)]
        speed = statistics.median(float(str(sample["mb_per_s"])) for sample in mine)
        peak = max(int(str(sample["peak_mib"])) for sample in mine)
        print(f"| {kind} | {name} | {speed:.0f} | {peak} |")


if __name__ == "__main__":
    main()
