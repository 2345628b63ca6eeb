# SPDX-License-Identifier: Apache-2.0
"""GPUs for tests where there are none: a libcuda (fake_cuda/) and an NVML (tests/vm) that agree on which there are."""

import contextlib
import ctypes
import hashlib
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from railgauge import _native

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "railgauge"
NVML = ROOT / "tests" / "vm" / "fake_nvml.cc"
REDUCTIONS = SOURCE / "collectives" / "native" / "reduce_kernels.cc"
READ = ("collectives/native", "collectives/native/kernels", "transports/native", "transports/native/cuda")
"""Folders whose headers the library is made with."""
BUILT = ROOT / "build" / "fake_cuda"
COMPILER = ("c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-pthread")
FATBIN = "_ZN9railgauge3gpu6fatbinENS_5DtypeE"  # railgauge::gpu::fatbin(Dtype)
SWITCH = "0000:ff:00.0"


def bus_ids(count: int) -> list[str]:
    """Those of the made-up GPUs, as CUDA writes them."""
    return [f"0000:{0x10 + 0x10 * (number // 4) + number % 4:02x}:00.0" for number in range(count)]


def environment(libraries: Path, count: int, *, faults: str = "", memory: int | None = None) -> dict[str, str]:
    """What a process needs to see so many GPUs; `faults` and `memory`: fake_cuda/fake.h."""
    path = os.environ.get("LD_LIBRARY_PATH")
    limit = {} if memory is None else {"FAKE_CUDA_BYTES": str(memory)}
    return limit | {
        "LD_LIBRARY_PATH": f"{libraries}:{path}" if path else str(libraries),
        "NVML_GPUS": " ".join(bus_ids(count)),
        "NVML_SWITCH": SWITCH,
        "FAKE_CUDA_FAULTS": faults,
    }


def libraries() -> Path:
    """The folder that has both, built anew where a source has changed."""
    sources = [*sorted((HERE / "fake_cuda").glob("*.cc")), REDUCTIONS]
    headers = [path for folder in READ for path in sorted((SOURCE / folder).glob("*.h"))]
    read = [*sources, *headers, *(HERE / "fake_cuda").glob("*.h"), NVML]
    made = BUILT / hashlib.sha256(b"".join(path.read_bytes() for path in read)).hexdigest()[:16]
    if not made.is_dir():
        BUILT.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=BUILT) as folder:
            options = [f"-I{SOURCE}", "-DRAILGAUGE_ISA=baseline", "-Wl,-z,defs", "-Wl,-Bsymbolic"]
            compile_to(Path(folder) / "libcuda.so.1", *options, *map(str, sources))
            compile_to(Path(folder) / "libnvidia-ml.so.1", str(NVML))
            with contextlib.suppress(OSError):  # another test process was faster
                os.rename(folder, made)
    return made


def compile_to(library: Path, *arguments: str) -> None:
    """Build a shared library."""
    subprocess.run([*COMPILER, f"-Wl,-soname,{library.name}", "-o", str(library), *arguments], check=True)


def why_no_kernels() -> str | None:
    """Why nothing can be launched with this build; None where it has kernels."""
    fatbin = getattr(ctypes.CDLL(_native.__file__), FATBIN)
    fatbin.restype = ctypes.c_void_p
    return None if fatbin(0) else "this build has no GPU kernels: it was made without nvcc"
