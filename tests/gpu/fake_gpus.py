# SPDX-License-Identifier: Apache-2.0
"""GPUs for tests where there are none: a libcuda (fake_cuda/) and an NVML (tests/vm) that agree on which there are.

The kernels are the product's, compiled for the CPU.
"""

import fcntl
import functools
import hashlib
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "railgauge"
NVML = ROOT / "tests" / "vm" / "fake_nvml.cc"
KERNELS = SOURCE / "collectives" / "native" / "kernels"
FIBERS = ROOT / "tests" / "native" / "fibers.cc"
READ = ("collectives/native", "collectives/native/kernels", "transports/native", "transports/native/cuda")
"""Folders whose headers the library is made with."""
ELEMENTS = {
    "half": "Float16",
    "bfloat16": "Bfloat16",
    "float": "float",
    "double": "double",
    "int8": "std::int8_t",
    "uint8": "std::uint8_t",
    "int32": "std::int32_t",
    "uint32": "std::uint32_t",
    "int64": "std::int64_t",
    "uint64": "std::uint64_t",
    "f8e4m3": "Float8E4m3",
    "f8e5m2": "Float8E5m2",
}
"""The types of the kernels' modules, as CMakeLists.txt has them."""
BUILT = ROOT / "build" / "fake_cuda"
COMPILER = ("c++", "-std=c++20", "-O1", "-fPIC", "-pthread")
AT_ONCE = 2
"""Compilers that work at the same time."""
SWITCH = "0000:ff:00.0"
DOMAIN = f"{2 * '0000000001000000'}/7"
"""An NVLink domain of several hosts, as NVML_FABRIC gives it (fake_cuda/fake.h)."""
CPU = '<cpu numaid="0" affinity="3" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
PCI = '<pci busid="{bus_id}" class="{kind}" link_speed="32.0 GT/s PCIe" link_width="16">'
GPU = (
    PCI.format(bus_id="{bus_id}", kind="0x030200")
    + """
  <gpu dev="{number}" sm="90" rank="{number}" gdr="1">
    <nvlink target="0000:ff:00.0" count="18" tclass="0x068000"/>
  </gpu>
</pci>"""
)
NIC = """<nic>
  <net name="{name}" dev="{number}" latency="0" speed="100000" port="1" guid="{number:#x}" maxconn="131072" gdr="1"/>
</nic></pci>"""


def bus_ids(count: int) -> list[str]:
    """Those of the fake GPUs, as CUDA writes them."""
    return [f"0000:{0x10 + 0x10 * (number // 4) + number % 4:02x}:00.0" for number in range(count)]


def environment(
    folder: Path, count: int, *, faults: str = "", memory: int | None = None, nics: Sequence[str] = ()
) -> dict[str, str]:
    """What a process needs to see so many GPUs on one NVSwitch; `faults` and `memory`: fake_cuda/fake.h; `nics`: as in
    `topology`.

    The topology goes by a file, as sysfs has none of these GPUs; `folder` gets it.
    """
    path = os.environ.get("LD_LIBRARY_PATH")
    limit = {} if memory is None else {"FAKE_CUDA_BYTES": str(memory)}
    file = folder / f"{count}-gpus.xml"
    file.write_text(topology(count, nics))
    return limit | {
        "LD_LIBRARY_PATH": f"{libraries()}:{path}" if path else str(libraries()),
        "NVML_GPUS": " ".join(bus_ids(count)),
        "NVML_SWITCH": SWITCH,
        "FAKE_CUDA_FAULTS": faults,
        "NCCL_TOPO_FILE": str(file),
    }


def topology(count: int, nics: Sequence[str] = ()) -> str:
    """NCCL's XML of a machine that has them; `nics`: of each GPU, the NIC below one switch with it."""
    gpus = [GPU.format(bus_id=bus_id, number=number) for number, bus_id in enumerate(bus_ids(count))]
    for number, name in enumerate(nics):
        switch, nic = (
            PCI.format(bus_id=f"0000:{bus:02x}:{0x10 + number:02x}.0", kind=kind)
            for bus, kind in ((0x01, "0x060400"), (0x02, "0x020700"))
        )
        gpus[number] = f"{switch}{gpus[number]}{nic}{NIC.format(name=name, number=number)}</pci>"
    return f'<system version="1">{CPU}{"".join(gpus)}</cpu></system>\n'


@functools.cache
def libraries() -> Path:
    """The folder that has both, built anew where a source has changed."""
    sources = [*sorted((HERE / "fake_cuda").glob("*.cc")), FIBERS, *sorted(KERNELS.glob("*.cu"))]
    headers = [path for folder in READ for path in sorted((SOURCE / folder).glob("*.*h"))]
    read = [*sources, *headers, *(HERE / "fake_cuda").glob("*.h"), FIBERS.with_suffix(".h"), NVML]
    made = BUILT / hashlib.sha256(b"".join(path.read_bytes() for path in read)).hexdigest()[:16]
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one test process builds it, and the others wait: pytest bounds that
        if not made.is_dir():
            with TemporaryDirectory(dir=BUILT, ignore_cleanup_errors=True) as folder:
                objects = compiled(sources, Path(folder))
                compile_to(Path(folder) / "libcuda.so.1", "-Wl,-z,defs", "-Wl,-Bsymbolic", *map(str, objects))
                compile_to(Path(folder) / "libnvidia-ml.so.1", str(NVML))
                os.rename(folder, made)
    return made


def compiled(sources: Sequence[Path], folder: Path) -> list[Path]:
    """The objects of all sources; of kernels.cu one for each element type."""
    asked = [(path, path.stem, ()) for path in sources if path.name != "kernels.cu"]
    for name, element in ELEMENTS.items():
        options = (f"-DRAILGAUGE_ELEMENT={element}", f'-DRAILGAUGE_MODULE="{name}"')
        asked.append((KERNELS / "kernels.cu", name, options))

    def one(source: Path, name: str, options: Sequence[str]) -> Path:
        made = folder / f"{name}-{source.stem}.o"
        command = (*COMPILER, f"-I{SOURCE}", f"-I{ROOT}", *options, "-c", "-x", "c++", str(source), "-o", str(made))
        subprocess.run(command, check=True)
        return made

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda each: one(*each), asked))


def compile_to(library: Path, *arguments: str) -> None:
    """Build a shared library."""
    options = ("-shared", "-Wl,--exclude-libs,ALL", f"-Wl,-soname,{library.name}")
    subprocess.run([*COMPILER, *options, "-o", str(library), *arguments], check=True)
