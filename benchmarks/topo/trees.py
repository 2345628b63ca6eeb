# SPDX-License-Identifier: Apache-2.0
"""One machine twice: as railgauge's capture, and as a tree of files for hwloc (HWLOC_FSROOT).

The capture of the fixture holds what railgauge reads. hwloc needs no NVML, but reads the core, package and caches of
every hardware thread (kernel: ABI/stable/sysfs-devices-system-cpu), so its tree has these files too.
"""

import pathlib
import shutil
from collections.abc import Iterable, Mapping

from railgauge.topo.facts.capture import Capture, dumps
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.named_source import fixture_path

FIXTURE = "dgx-h100"  # 8 GPUs, 10 NICs
SOCKETS, CORES, THREADS = 2, 56, 2  # of that machine
CACHES = ((1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "2048K"), (3, "Unified", "107520K"))
CPUS = pathlib.PurePath("sys/devices/system/cpu")


def write_both(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Write the machine below `folder`: the capture's file and the tree's root."""
    path = fixture_path(FIXTURE)
    capture = build(pathlib.Path(path).read_bytes(), path)
    archive, root = folder / f"{FIXTURE}.tar.gz", folder / FIXTURE
    folder.mkdir(parents=True, exist_ok=True)
    archive.write_bytes(dumps(capture))
    shutil.rmtree(root, ignore_errors=True)
    unpack(capture, root)
    add_cores(root)
    return archive, root


def unpack(capture: Capture, root: pathlib.Path) -> None:
    """The capture's files and links below `root`."""
    for name, text in capture.texts.items():
        write(root / name.lstrip("/"), text)
    for name, target in capture.links.items():
        link = root / name.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)


def add_cores(root: pathlib.Path) -> None:
    """Sysfs files of each hardware thread: its core, its package, its caches."""
    cores = SOCKETS * CORES
    write(root / CPUS / "online", f"0-{cores * THREADS - 1}")
    for cpu in range(cores * THREADS):
        core = cpu % cores
        package = core // CORES
        threads = mask(core + cores * thread for thread in range(THREADS))
        mates = range(package * CORES, (package + 1) * CORES)
        socket = mask(mate + cores * thread for mate in mates for thread in range(THREADS))
        facts = {"core_id": core % CORES, "physical_package_id": package, "core_cpus": threads, "package_cpus": socket}
        write_all(root / CPUS / f"cpu{cpu}" / "topology", facts)
        for index, (level, kind, size) in enumerate(CACHES):
            facts = {"level": level, "type": kind, "size": size, "coherency_line_size": 64, "number_of_sets": 64}
            facts |= {"physical_line_partition": 1, "shared_cpu_map": socket if level == 3 else threads}
            write_all(root / CPUS / f"cpu{cpu}" / "cache" / f"index{index}", facts)


def mask(cpus: Iterable[int]) -> str:
    """CPU numbers as sysfs's hexadecimal mask in groups of 32."""
    bits = sum(1 << cpu for cpu in cpus)
    words = []
    while bits:
        words.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(words))


def write(path: pathlib.Path, text: str) -> None:
    """One file, as the kernel ends its lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def write_all(folder: pathlib.Path, facts: Mapping[str, object]) -> None:
    """One file a fact."""
    for name, value in facts.items():
        write(folder / name, str(value))
