# SPDX-License-Identifier: Apache-2.0
"""A synthetic cluster: 1,000 captures of DGX H100 nodes, some of which deviate.

Their /proc/cpuinfo has all 224 processors, with clock rates that no two readings have in common, as a real one has.
"""

import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from railgauge.fixtures.__main__ import load
from railgauge.fixtures.fleet import member
from railgauge.topo.facts.capture import Capture, dumps

CPUINFO = "/proc/cpuinfo"
PROCESSORS = 224
ODD = {17: "dgx-h100-nic-x8", 404: "dgx-h100-port-down", 405: "dgx-h100-port-down", 900: "dgx-h100-nvlink-down"}
"""Other fixtures by the number of the node that is one."""
CUT = 666
"""The node whose capture is cut off."""


def folder_of(place: Path, nodes: int) -> Path:
    """The folder with the captures, made where it is not there yet."""
    folder = place / f"{nodes}-nodes"
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor() as pool:
            list(pool.map(write, [part] * nodes, range(1, nodes + 1), chunksize=20))
        part.rename(folder)
    return folder


def write(folder: Path, number: int) -> None:
    """One node's capture."""
    machine = member(load(ODD.get(number, "dgx-h100")), name(number))
    data = dumps(with_all_processors(machine, random.Random(number)), ".tar.zst")
    (folder / f"{name(number)}.tar.zst").write_bytes(data[: len(data) // 2] if number == CUT else data)


def name(number: int) -> str:
    """gpu0001."""
    return f"gpu{number:04}"


def with_all_processors(machine: Capture, noise: random.Random) -> Capture:
    """The machine with a processor for each of its hardware threads."""
    _, _, rest = machine.texts[CPUINFO].partition("\n")
    each = [f"processor\t: {n}\ncpu MHz\t\t: {noise.uniform(800, 3800):.3f}\n{rest}\n" for n in range(PROCESSORS)]
    return replace(machine, texts=machine.texts | {CPUINFO: "\n".join(each)})
