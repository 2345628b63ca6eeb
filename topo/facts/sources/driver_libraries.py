# SPDX-License-Identifier: Apache-2.0
"""Which releases of NVIDIA's driver are here: the kernel module's, NVML's own answer, and the installed libraries'."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.gdr import DRIVER, driver_version

FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
)
LIBRARIES = ("libnvidia-ml.so.1", "libcuda.so.1")
MODULE = "/sys/module/nvidia/version"


class DriverReleases(NamedTuple):
    """Each is None when unreadable. libraries: the release in the name of the file that a library's link leads to."""

    module: str | None
    nvml: str | None
    nvml_error: str | None
    cuda_error: str | None
    libraries: Mapping[str, str]


def read_driver_releases(reader: Reader) -> DriverReleases:
    """The releases on the machine; CUDA's compatibility packages, which are newer by design, are not looked at."""
    nvml, cuda = reader.facts("nvml") or {}, reader.facts("cuda") or {}
    return DriverReleases(
        module=driver_version(reader.text(DRIVER)) or reader.text(MODULE),
        nvml=nvml.get("driver"),
        nvml_error=nvml.get("error"),
        cuda_error=cuda.get("error"),
        libraries=dict(found for folder in FOLDERS for name in LIBRARIES if (found := _release(reader, folder, name))),
    )


def _release(reader: Reader, folder: str, name: str) -> tuple[str, str] | None:
    """The library's path, and the release that its file is named by."""
    real = reader.realpath(f"{folder}/{name}")
    found = re.search(r"\.so\.(\d+\.\d+(?:\.\d+)*)$", real or "")
    return (f"{folder}/{name}", found[1]) if found else None
