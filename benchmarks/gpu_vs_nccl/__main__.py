# SPDX-License-Identifier: Apache-2.0
"""Our collectives between GPUs beside the installed NCCL's, plain, registered and symmetric, in one run.

One process for each GPU; at each size the contenders alternate in random order, on a stream and as CUDA graphs, and
their data is verified. A contender that hangs or fails is left out from there on.
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
from typing import Any, TextIO

from benchmarks import machine
from benchmarks.environments import FOLDER, environment
from benchmarks.gpu_vs_nccl import table
from benchmarks.gpu_vs_nccl.options import arguments
from benchmarks.gpu_vs_nccl.rank import Job
from benchmarks.gpu_vs_nccl.results import Results
from benchmarks.gpu_vs_nccl.start import StalledError, lines

from railgauge import __version__


def main() -> int:
    """Measure, write the JSONL and the plot, print the tables."""
    options = arguments(__doc__.splitlines()[0])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    output = options.output or FOLDER / "results" / f"gpu_vs_nccl-{options.gpus}-gpus{kind(options)}.jsonl"
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w") as file:
        write(file, heading(options))
        for number, collective in enumerate(options.collectives):
            measure(collective, options, file, copies=number == 0)
    found = Results.read(output)
    print(table.render(found))
    print(f"\nsamples in {output}", file=sys.stderr)
    if not options.no_plot:
        python = environment("plot", "matplotlib>=3.9") / "bin/python"
        command = [python, "-m", "benchmarks.gpu_vs_nccl.plot", output, output.with_suffix(".svg")]
        subprocess.run(command, check=True)
    return 0 if found.samples else 4


def kind(options: argparse.Namespace) -> str:
    """For the file's name."""
    return ("-p2p-off" if options.p2p_off else "") + ("-two-hosts" if options.two_hosts else "")


def heading(options: argparse.Namespace) -> dict[str, Any]:
    """The first line: machine, versions, method."""
    gpus = machine.first_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    return {
        "kind": "machine",
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine.describe() | {"gpus": gpus},
        "railgauge": __version__,
        "gpus": options.gpus,
        "dtype": "float32",
        "redop": "sum",
        "placement": "in place, where a collective has that",
        "p2p_off": options.p2p_off,
        "two_hosts": options.two_hosts,
        "settings": settings(options) | {name: value for name, value in os.environ.items() if name.startswith("NCCL_")},
        "repetitions": options.repetitions,
        "seconds_per_sample": options.seconds,
        "seed": options.seed,
    }


def settings(options: argparse.Namespace) -> dict[str, str]:
    """NCCL's settings, for both: NVLink multicast stays off unless the environment enables it."""
    multicast = {} if "NCCL_NVLS_ENABLE" in os.environ else {"NCCL_NVLS_ENABLE": "0"}
    return multicast | ({"NCCL_P2P_DISABLE": "1"} if options.p2p_off else {})


def measure(collective: str, options: argparse.Namespace, file: TextIO, *, copies: bool) -> None:
    """All sizes of a collective, restarted without contenders that hung or failed."""
    sizes, contenders = list(options.sizes[collective]), list(options.contenders)
    while sizes and contenders:
        job = Job(
            collective=collective,
            sizes=sizes,
            contenders=contenders,
            repetitions=options.repetitions,
            seconds=options.seconds,
            timeout_s=options.timeout,
            seed=options.seed,
            copies=copies,
        )
        step: dict[str, Any] = {"contender": None, "size": sizes[0]}
        try:
            for line in lines(job, options.gpus, settings(options), two_hosts=options.two_hosts):
                what = line.pop("what")
                if what == "begin":
                    step = line
                else:
                    write(file, {"kind": what, "collective": collective, "gpus": options.gpus, **line})
        except StalledError as error:
            failed = {"contender": step["contender"], "size": step["size"], "reason": str(error)}
            write(file, {"kind": "missing", "collective": collective, "gpus": options.gpus, **failed})
            print(f"{collective}: {failed}", file=sys.stderr)
        else:
            return
        if step["contender"] == "copies":
            copies = False
        elif step["contender"] in contenders:
            contenders.remove(step["contender"])
            sizes = [size for size in sizes if size >= step["size"]]
        else:
            return  # they never connected


def write(file: TextIO, record: dict[str, Any]) -> None:
    """Append one line."""
    file.write(json.dumps({"schema": "railgauge/bench/1", "benchmark": "gpu_vs_nccl", **record}) + "\n")
    file.flush()


if __name__ == "__main__":
    sys.exit(main())
