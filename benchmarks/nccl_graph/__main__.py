# SPDX-License-Identifier: Apache-2.0
"""NCCL on our topology and graph files: whether it loads them, uses our channels, gets right sums, and how fast.

It alternates between NCCL alone, our file of its own choice, the best graph and one that it would not have chosen.
Needs NVIDIA GPUs and a Python with PyTorch (`--torch`).
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
import tempfile

from benchmarks import machine
from benchmarks.environments import FOLDER
from benchmarks.nccl_graph import log
from benchmarks.nccl_graph.graphs import graphs_of

from railgauge.topo.channels import graph_file
from railgauge.topo.channels.graph import Graphs
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.xml import topology_file

SIZES = (8, 64 << 10, 2 << 20, 32 << 20, 512 << 20)
SCRIPT = pathlib.Path(__file__).with_name("all_reduce.py")
TIMEOUT = 120  # s for one start of all ranks


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="nccl_graph", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--gpus", type=int, nargs="+", default=[2, 4], help="number of GPUs")
    parser.add_argument("--torch", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    output = options.output or FOLDER / "results" / "nccl_graph.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    facts = machine.describe() | {"gpus": machine.first_line("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")}
    lines: list[dict[str, object]] = [{"kind": "machine", "at": at, "machine": facts}]
    for gpus in options.gpus:
        lines += measure(gpus, options.turns, options.torch)
    with output.open("w") as file:
        for line in lines:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "nccl_graph", **line}) + "\n")
    print_table(lines)
    sys.exit(0 if all(line.get("ok", True) for line in lines) else 1)


def measure(gpus: int, turns: int, torch: str) -> list[dict[str, object]]:
    """Samples of every graph on the first GPUs; a graph counts as loaded when NCCL's log shows its very rings."""
    found = load_machine(None, gpus=tuple(range(gpus)))
    system = build_system(found.topology)
    graphs = graphs_of(system)
    lines: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        topo = pathlib.Path(folder, "topo.xml")
        topo.write_text(topology_file.dumps(found.topology))
        for turn in range(turns):
            for name, graph in graphs.items():
                environment = {}
                if graph is not None:
                    file = pathlib.Path(folder, "graph.xml")
                    file.write_text(graph_file.dumps(graph, system))
                    environment = {"NCCL_TOPO_FILE": str(topo), "NCCL_GRAPH_FILE": str(file)}
                ran = run(gpus, environment, torch, pathlib.Path(folder))
                lines.append({"kind": "sample", "gpus": gpus, "graph": name, "turn": turn} | judged(ran, graph))
    return lines


def run(gpus: int, environment: dict[str, str], torch: str, folder: pathlib.Path) -> dict[str, object]:
    """One start of all ranks: rank 0's rows and log, and the worst exit status."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = os.environ | environment | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NCCL_DEBUG": "INFO"}
    shared |= {"WORLD_SIZE": str(gpus), "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,ENV,P2P", "NCCL_NVLS_ENABLE": "0"}
    command = [torch, "-P", str(SCRIPT), "--sizes", *map(str, SIZES)]
    logs = [folder / f"log-{rank}" for rank in range(gpus)]
    started = [
        subprocess.Popen(
            command,
            env=shared | {"RANK": str(rank), "NCCL_DEBUG_FILE": str(path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for rank, path in enumerate(logs)
    ]
    try:
        outputs = [process.communicate(timeout=TIMEOUT)[0] for process in started]
    except subprocess.TimeoutExpired:
        outputs = [""]
    finally:
        for process in started:
            process.kill()
    status = max(abs(process.wait()) for process in started)
    text = logs[0].read_text() if logs[0].exists() else ""
    return {"status": status, "rows": [json.loads(line) for line in outputs[0].splitlines()], "log": text}


def judged(ran: dict[str, object], graph: Graphs | None) -> dict[str, object]:
    """What NCCL said and did, and whether that is what the graph asks for; `ok` is the whole verdict."""
    text, rows = str(ran["log"]), list(ran["rows"])  # type: ignore[call-overload]
    rings = log.rings(text)
    wanted = [log.from_zero(channel.ranks) for channel in graph.ring.channels] * 2 if graph else rings
    right = len(rows) == len(SIZES) and not any(row["wrong"] for row in rows)
    return {
        "status": ran["status"],
        "loaded": log.loaded(text),
        "channels": len(rings),
        "orders": sorted(set(rings)),
        "our_rings": rings == wanted and bool(rings),
        "transports": log.transports(text),
        "rows": rows,
        "ok": ran["status"] == 0 and right and rings == wanted and bool(rings),
    }


def print_table(lines: list[dict[str, object]]) -> None:
    """Median bus bandwidth of each graph, GB/s, and us for small sizes."""
    samples = [line for line in lines if line["kind"] == "sample"]
    for gpus in sorted({line["gpus"] for line in samples}):  # type: ignore[type-var]
        print(f"\n{gpus} GPUs, all_reduce, us / busbw GB/s")
        for name in dict.fromkeys(line["graph"] for line in samples):
            mine = [line for line in samples if (line["gpus"], line["graph"]) == (gpus, name)]
            ok = all(line["ok"] for line in mine)
            cells = [cell([line["rows"] for line in mine], size, int(str(gpus))) for size in SIZES]
            print(f"{name:24} {mine[0]['channels']:>3} channels  {'ok ' if ok else 'BAD'}  {'  '.join(cells)}")


def cell(runs: list[object], size: int, gpus: int) -> str:
    """The median of all samples of a size."""
    times = [us for rows in runs for row in rows if row["bytes"] == size for us in row["us"]]  # type: ignore[attr-defined]
    if not times:
        return "-"
    middle = statistics.median(times)
    return f"{middle:.1f} / {size * Collective.ALL_REDUCE.factor(gpus) / middle / 1e3:.1f}"


if __name__ == "__main__":
    main()
