# SPDX-License-Identifier: Apache-2.0
"""How long `railgauge cluster dump` and `cluster check` take with 1,000 captures, and where the time goes.

The whole command is a process of its own, whose answer is checked: exactly the deviating nodes. The steps are timed in
this process: reading one capture, and the work on all of them afterwards.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks import machine
from benchmarks.cluster.synthetic import CUT, ODD, folder_of, name
from benchmarks.environments import FOLDER
from benchmarks.host_collectives.peers import default_program

from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.folder import node_files, read_files
from railgauge.topo.findings.cluster.node import read_node

NODES = 1000
BOUND_S = {"dump": 10.0, "check": 20.0}
WARM_UP = 5  # captures: the first fill caches
Sample = dict[str, object]
Json = dict[str, Any]
Answer = tuple[set[str], list[str]]


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--railgauge", default=default_program())
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"cluster-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    folder = str(folder_of(FOLDER / "cluster", NODES))
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    lines: list[Sample] = [{"kind": "machine", "at": at, "machine": facts, "load": machine.load()}]
    lines += [whole_command(options.railgauge, which, folder) for _ in range(options.runs) for which in BOUND_S]
    lines += steps(folder)
    with output.open("w") as file:
        for line in lines:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "cluster", **line}) + "\n")
    print_table(lines)
    print(f"\nsamples in {output}", file=sys.stderr)


def whole_command(railgauge: str, which: str, folder: str) -> Sample:
    """One run of the command: wall time, time of all its processes on the cores, and the load before it."""
    load, used, begin = machine.load(), os.times(), time.perf_counter()
    done = subprocess.run(
        [railgauge, "cluster", which, "--from", folder, "--json"], check=True, capture_output=True, text=True
    )
    wall, now = time.perf_counter() - begin, os.times()
    odd, missing = ANSWERS[which](json.loads(done.stdout))
    if odd != EXPECTED[which] or missing != [name(CUT)]:
        raise SystemExit(f"the answer of {which} is wrong: odd {sorted(odd)}, unread {missing}")
    cpu = now.children_user + now.children_system - used.children_user - used.children_system
    return {"kind": "sample", "what": which, "wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "load": load}


def dumped(document: Json) -> Answer:
    """The nodes that differ, with whatever has no majority, and those not read."""
    odd = {one["node"] for one in document["differences"]} | {one["what"] for one in document["splits"]}
    return odd, [one["nodes"] for one in document["unreachable"]]


def checked(document: Json) -> Answer:
    """The nodes of each WARN and FAIL, folded as the answer has them, and those not read."""
    found = document["findings"]
    odd = {one["host"] for one in found if one["level"] in ("WARN", "FAIL")}
    return odd, [one["host"] for one in found if one["id"] == "nodes-differ" and one["level"] == "UNKNOWN"]


ANSWERS = {"dump": dumped, "check": checked}
EXPECTED = {
    "dump": {name(number) for number in ODD},
    "check": {name(17), f"gpu[{404:04}-{405:04}]", name(900)},
}


def steps(folder: str) -> list[Sample]:
    """What reading one capture takes in one process, reading all with all cores, and the comparison of all."""
    files = node_files(folder)
    each = []
    for node, path in files[: WARM_UP + 100]:
        begin = time.perf_counter()
        read_node(node, path, with_topology=False)
        each.append(round((time.perf_counter() - begin) * 1e3, 3))
    begin = time.perf_counter()
    nodes, unread = read_files(files, lambda more: None)
    reading = time.perf_counter() - begin
    begin = time.perf_counter()
    compare(nodes, unread)
    comparing = time.perf_counter() - begin
    return [
        {"kind": "sample", "what": "one capture", "wall_ms": each[WARM_UP:]},
        {"kind": "sample", "what": "reading all", "wall_s": round(reading, 3)},
        {"kind": "sample", "what": "comparing all", "wall_s": round(comparing, 3)},
    ]


def print_table(lines: list[Sample]) -> None:
    """The command beside its bound, then the steps."""
    print(f"| {NODES} captures | best | median |\n|---|---|---|")
    for which, bound in BOUND_S.items():
        walls = [float(str(line["wall_s"])) for line in lines if line.get("what") == which]
        print(f"| cluster {which}, s (at most {bound:g}) | {min(walls):.1f} | {statistics.median(walls):.1f} |")
    for line in lines:
        if line.get("what") == "one capture":
            each = [float(one) for one in json.loads(str(line["wall_ms"]))]
            print(f"| one capture in one process, ms | {min(each):.1f} | {statistics.median(each):.1f} |")
        elif line.get("what") in ("reading all", "comparing all"):
            print(f"| {line['what']}, s | {line['wall_s']} | |")


if __name__ == "__main__":
    main()
