# SPDX-License-Identifier: Apache-2.0
"""A machine from wherever it is described: live, a capture, a recorded fixture (@name), or a topology XML."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo import xml
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.input_file import read_bytes
from railgauge.topo.remarks import remarks
from railgauge.topo.scan import scan
from railgauge.topo.sources.affinity import live_affinity
from railgauge.topo.sources.capture import MAX_TOTAL, Capture, CaptureReader, RecordingReader, loads
from railgauge.topo.sources.cuda import live_cuda
from railgauge.topo.sources.host_identity import host_name
from railgauge.topo.sources.interfaces import live_interfaces
from railgauge.topo.sources.nvml import live_nvml
from railgauge.topo.sources.reader import LiveReader
from railgauge.topo.sources.sysfs_net import addressed, read_nic
from railgauge.topo.sources.sysfs_pci import gpu_bus_ids
from railgauge.topo.topology import Topology

DRIVER = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")  # in containers and WSL sysfs may lack the GPUs
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A topology, what could not be learnt about it, and the host's name ("" when a file does not tell)."""

    topology: Topology
    warnings: tuple[str, ...] = ()
    host: str = ""


def load_machine(source: str | None = None, *, root: str = "/", gpus: tuple[int, ...] | None = None) -> Machine:
    """Load what `source` names: None the live machine below `root`, "@name" a fixture, else a capture or topology file.

    `gpus` (NVML indices, in rank order) limits a live or captured machine. Settings of NCCL in the environment
    (NCCL_SOCKET_IFNAME, NCCL_HOSTID, CUDA_VISIBLE_DEVICES) apply to the live machine only. InputError when `source`
    is unreadable.
    """
    if source is None:
        return _scanned(live_reader(root), os.environ, gpus)
    path = fixture_path(source[1:]) if source.startswith("@") else source
    data = read_bytes(path, MAX_TOTAL)
    if data.startswith(GZIP):
        return _scanned(CaptureReader(loads(data, path)), {}, gpus)
    if gpus is not None:
        raise UsageError("--gpus limits a machine or a capture; a topology XML is taken whole")
    topology = xml.loads(data, path)
    return Machine(topology=topology, warnings=remarks(topology))


def record(root: str = "/") -> tuple[Capture, tuple[str, ...]]:
    """Read the live machine below `root` once: the raw reads, and what could not be learnt.

    No setting of the environment applies, so that every GPU and every interface is in it.
    """
    reader = RecordingReader(live_reader(root))
    machine = _scanned(reader, {}, None)
    problems = dict(reader.problems)
    for name in addressed(reader):
        read_nic(reader, name)
    reader.problems = problems  # what an interface that is not used lacks is no remark on this machine
    return reader.capture(machine.host), machine.warnings


def live_reader(root: str = "/") -> LiveReader:
    """A reader of the file system below `root`; only the real root has an NVML, a CUDA and addresses to ask."""
    if root.rstrip("/"):
        return LiveReader(root)
    reader = LiveReader("/")
    present = bool(gpu_bus_ids(reader)) or any(os.path.exists(path) for path in DRIVER)
    asks = {"nvml": live_nvml, "cuda": live_cuda} if present else {}
    return LiveReader("/", {**asks, "interfaces": live_interfaces, "affinity": live_affinity})


def _scanned(
    reader: LiveReader | CaptureReader, environment: Mapping[str, str], gpus: tuple[int, ...] | None
) -> Machine:
    result = scan(reader, environment, gpus)
    warnings = (*result.warnings, *remarks(result.topology))
    return Machine(topology=result.topology, warnings=warnings, host=host_name(reader) or "")


def fixture_path(name: str) -> str:
    """The capture of a recorded machine by its name; InputError listing those there are when it is not one of them."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "fixtures")
    known = sorted(d for d in os.listdir(folder) if os.path.isfile(os.path.join(folder, d, "capture.tar.gz")))
    if name not in known:
        raise InputError(f"there is no fixture @{name}; there are: {', '.join('@' + k for k in known) or 'none'}")
    return os.path.join(folder, name, "capture.tar.gz")
