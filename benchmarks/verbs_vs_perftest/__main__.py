# SPDX-License-Identifier: Apache-2.0
"""The verbs transport beside perftest between two emulated VMs with Soft-RoCE: ratios of one run.

In turns: ib_write_bw and messages of 1 MiB in one direction, ib_write_lat and round trips of 8 bytes. Ours is verified.
"""

import argparse
import datetime
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

from benchmarks import machine
from benchmarks.environments import FOLDER
from tests.vm.boards import ONE_RAIL
from tests.vm.lab import guest, kernel

TIMEOUT_S = 590
WANTED = {"bandwidth": 0.9, "latency": 1.5}  # of perftest's: at least, at most
VALUES = {"bandwidth": "mb_per_s", "latency": "mean_us"}


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="verbs_vs_perftest", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    if shutil.which("ib_write_bw") is None:
        raise SystemExit("no ib_write_bw: apt-get install perftest (and scripts/prerequisites vm)")
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"verbs_vs_perftest-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    load, samples = machine.load(), measure(options.turns)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with output.open("w") as file:
        for line in [{"kind": "machine", "at": at, "machine": facts, "load": load}, *samples]:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "verbs_vs_perftest", **line}) + "\n")
    print_table(samples)
    print(f"\nsamples in {output}", file=sys.stderr)


def measure(turns: int) -> list[dict[str, object]]:
    """All samples, in the order in which they were taken."""
    job = f'"$PYTHON" -m benchmarks.verbs_vs_perftest.rank "$RANK" 10.77.0.1 {turns} > /run/io/samples'
    with tempfile.TemporaryDirectory() as folder:
        folders = [pathlib.Path(folder, name) for name in ("0", "1")]
        for io in folders:
            io.mkdir()
        environment = {"PYTHON": sys.executable}
        guests = [guest.Guest(board=ONE_RAIL, job=job, io=io, environment=environment) for io in folders]
        guest.boot(kernel.ready(), guests, TIMEOUT_S)
        return [{"kind": "sample", **json.loads(line)} for line in (folders[1] / "samples").read_text().splitlines()]


def print_table(samples: list[dict[str, object]]) -> None:
    """Medians over the turns, and the ratio."""
    print("| | perftest | railgauge | ratio | wanted |")
    print("|---|---|---|---|---|")
    for what, name in VALUES.items():
        theirs, ours = (
            statistics.median(
                float(str(one[name])) for one in samples if (one["program"], one["what"]) == (program, what)
            )
            for program in ("perftest", "railgauge")
        )
        wanted = f"{'at least' if what == 'bandwidth' else 'at most'} {WANTED[what]}"
        print(f"| {what}, {name} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f} | {wanted} |")


if __name__ == "__main__":
    main()
