# SPDX-License-Identifier: Apache-2.0
"""A machine: live, or from a capture, a description, a fixture (@name) or a topology XML."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.facts.capture import Capture, CaptureReader, dumps, loads
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.reader import LiveReader, Reader
from railgauge.topo.facts.recording import capture_of
from railgauge.topo.facts.shapes import FACTS
from railgauge.topo.facts.sources.gdr import DRIVER
from railgauge.topo.facts.sources.host_identity import host_name
from railgauge.topo.facts.sources.nccl_settings import of_nccl
from railgauge.topo.facts.sources.nccl_topo_file import NamedFile
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS as INFINIBAND
from railgauge.topo.facts.sources.sysfs_pci import gpu_bus_ids
from railgauge.topo.files.compression import MAX_TOTAL, WRITERS, is_archive
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.files.output_file import write_file
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.graph.peer_status import denied_pairs
from railgauge.topo.nccl.graph.remarks import remarks
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.values.near import did_you_mean
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.text import MAX_BYTES
from railgauge.topo.xml.topology import Topology

DRIVER_SIGNS = (DRIVER, "/dev/nvidiactl", "/dev/dxg")  # in containers and WSL sysfs may lack the GPUs
DESCRIPTION = "machine.toml"
LATER = "port_errors_later"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A snapshot of a machine: its topology, warnings about what could not be read, and the host's name ("" if a file
    does not have it). What is computed from it is computed once and kept.

    `facts`: what there is beyond the topology; None for a topology file. `environment` holds NCCL's settings where they
    apply: on the live machine, and in a capture that was saved with them. `topo_file`: the topology file that was given
    to start from.
    """

    topology: Topology
    warnings: tuple[str, ...] = ()
    host: str = ""
    facts: MachineFacts | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    topo_file: NamedFile | None = None

    @property
    def reader(self) -> Reader | None:
        """What reads the machine itself, or its capture; None for a topology file."""
        return self.facts.reader if self.facts else None

    @cached_property
    def system(self) -> System:
        """Nodes and links, the ranks being the GPUs."""
        return build_system(self.topology)

    @cached_property
    def denied(self) -> frozenset[tuple[str, str]]:
        """Pairs of GPUs to which NVML gives no peer access, by id."""
        return denied_pairs(self.system, self.reader)


def load_machine(
    source: str | Capture | None = None,
    *,
    root: str = "/",
    gpus: tuple[int, ...] | None = None,
    topo_file: str | None = None,
    environment: Mapping[str, str] = os.environ,
    tolerant: bool = False,
) -> Machine:
    """Load what `source` names: None the live machine below `root`, "@name" a fixture, else a capture, a
    description (.toml) or a topology file.

    `gpus` (NVML indices, in rank order) limits a live or captured machine, `topo_file` is the topology file that such
    a scan starts from. Settings of NCCL in `environment` (NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_TOPO_FILE,
    CUDA_VISIBLE_DEVICES, ...) apply to the live machine only; a capture has its own. InputError when `source` or
    `topo_file` is unreadable, and, unless `tolerant`, where NCCL_TOPO_FILE names an invalid file.
    """
    reader, data = _opened(source, root)
    if reader is not None:
        applied = environment if source is None else getattr(reader, "environment", {})
        if topo_file is None:
            return _scanned(reader, applied, gpus, None, tolerant=tolerant)
        data = read_bytes(topo_file, MAX_BYTES)
        machine = _scanned(reader, applied, gpus, topology_file.loads(data, topo_file))
        return replace(machine, topo_file=NamedFile(path=topo_file, text=data.decode("utf-8", "surrogateescape")))
    if gpus is not None or topo_file is not None:
        raise UsageError("--gpus and --topo-file need a machine or a capture, not a topology XML")
    path = str(source)
    topology = topology_file.loads(data, path)
    if not topology.cpus:
        raise InputError("has no <cpu> element, below which every device has to be", path, topology.root.line)
    return Machine(topology=topology, warnings=remarks(topology))


def _opened(source: str | Capture | None, root: str = "/") -> tuple[Reader | None, bytes]:
    """The reader of a machine, live, recorded or described; for a topology file None and its content."""
    if source is None or isinstance(source, Capture):
        return (live_reader(root) if source is None else CaptureReader(source)), b""
    if source == "":
        raise UsageError('--from "": give a topology XML, a capture, machine.toml or @fixture')
    path = fixture_path(source[1:]) if source.startswith("@") else source
    if os.path.isdir(path):
        from railgauge.topo.facts.foreign_tree import tree_reader

        return tree_reader(path), b""
    data = read_bytes(path, MAX_TOTAL)
    if path.endswith(".toml"):
        from railgauge.topo.facts.described.build import build

        return CaptureReader(build(data, path)), b""
    return (CaptureReader(loads(data, path)), b"") if is_archive(data) else (None, data)


def as_it_is(machine: Machine) -> Machine:
    """A live or recorded machine without a topology file and settings."""
    return recorded(machine.reader) if machine.reader else machine


def is_same_host(one: Machine, other: Machine) -> bool:
    """Whether UUIDs and addresses can be compared: one host, its identifiers plain or under pseudonyms of one key."""
    marks = [getattr(machine.reader, "redacted", None) for machine in (one, other)]
    return bool(one.host) and one.host == other.host and marks[0] == marks[1]


def recorded(reader: Reader) -> Machine:
    """The machine that a reader reads, without settings."""
    return _scanned(reader, {}, None, None)


def record(
    root: str = "/", environment: Mapping[str, str] | None = None, *, later: bool = False
) -> tuple[Capture, tuple[str, ...]]:
    """Read the live machine below `root` once; return the raw reads, and warnings about what could not be read.

    All GPUs and interfaces are included, used or not; the settings of NCCL in `environment` apply when it replays.
    `later`: with the second reading of counters.
    """
    return _read_whole(live_reader(root), environment or {}, later=later)


def _read_whole(reader: LiveReader, environment: Mapping[str, str], *, later: bool) -> tuple[Capture, tuple[str, ...]]:
    from railgauge.topo.facts.machine_facts import MachineFacts

    machine = recorded(reader)
    MachineFacts(reader).read_all()
    for name in FACTS:
        if later or name != LATER:
            reader.facts(name)
    return capture_of(reader, machine.host, of_nccl(environment)), machine.warnings


def snapshot(source: str | Capture | None, environment: Mapping[str, str], *, later: bool = False) -> Capture:
    """A capture of the machine that `source` names (see load_machine), read once.

    Its answers are those of the machine under the settings in `environment`. UsageError for a topology file.
    """
    reader, _ = _opened(source)
    if isinstance(reader, LiveReader):
        return _read_whole(reader, environment if source is None else {}, later=later)[0]
    if isinstance(reader, CaptureReader):
        return reader.capture
    raise UsageError(f"{source} is a topology file, not a machine: no capture can be made of it")


def saved(path: str, source: str | Capture | None, environment: Mapping[str, str], *, later: bool = False) -> Capture:
    """A snapshot (see there) that is written to `path` as well.

    UsageError for a name without the suffix of an archive, UnavailableError where it cannot be written.
    """
    suffix = capture_suffix(path)
    capture = snapshot(source, environment, later=later)
    write_file(path, dumps(capture, suffix))
    return capture


def capture_suffix(path: str) -> str:
    """The format of the archive that --save-capture names; UsageError for a name without the suffix of one."""
    found = next((suffix for suffix in WRITERS if path.endswith(suffix)), None)
    if found is None:
        raise UsageError(f"--save-capture {path}: give a name that ends in {' or '.join(WRITERS)}")
    return found


def live_reader(root: str = "/") -> LiveReader:
    """A reader of the file system below `root`; NVML, CUDA and addresses are read for the real root only."""
    from railgauge.topo.facts.sources.affinity import live_affinity
    from railgauge.topo.facts.sources.cuda import live_cuda
    from railgauge.topo.facts.sources.fabric_manager import live_fabric_manager
    from railgauge.topo.facts.sources.gpu_counters import live_gpu_counters
    from railgauge.topo.facts.sources.interfaces import live_interfaces
    from railgauge.topo.facts.sources.nccl_settings import live_settings
    from railgauge.topo.facts.sources.nvml import live_nvml
    from railgauge.topo.facts.sources.pci_config import live_pci_config
    from railgauge.topo.facts.sources.port_errors import live_later
    from railgauge.topo.facts.sources.process import live_process
    from railgauge.topo.facts.sources.shared_memory import live_shared_memory
    from railgauge.topo.facts.sources.verbs import live_verbs

    reader = LiveReader(root)
    if reader.root:
        return reader
    reader.ask.update(
        interfaces=live_interfaces,
        affinity=live_affinity,
        settings=live_settings,
        pci_config=partial(live_pci_config, reader),
        process=live_process,
        shared_memory=live_shared_memory,
    )
    if gpu_bus_ids(reader) or any(os.path.exists(path) for path in DRIVER_SIGNS):
        reader.ask.update(
            nvml=live_nvml, cuda=live_cuda, fabric_manager=live_fabric_manager, gpu_counters=live_gpu_counters
        )
    if reader.entries(INFINIBAND):
        reader.ask.update({"verbs": live_verbs, LATER: live_later})
    return reader


def _scanned(
    reader: Reader,
    environment: Mapping[str, str],
    gpus: tuple[int, ...] | None,
    topo_file: Topology | None,
    *,
    tolerant: bool = False,
) -> Machine:
    result = scan(reader, environment, gpus, topo_file, tolerant=tolerant)
    warnings = (*result.warnings, *remarks(result.topology))
    host = host_name(reader) or ""
    return Machine(
        topology=result.topology, warnings=warnings, host=host, facts=MachineFacts(reader), environment=environment
    )


def fixture_path(name: str) -> str:
    """The capture or description of a fixture; InputError that lists the fixtures if none has that name."""
    known = fixtures()
    if name not in known:
        near = did_you_mean(f"@{name}", [f"@{one}" for one in known])
        names = ", ".join(f"@{one}" for one in known) or "none"
        raise InputError(f"unknown fixture @{name}{near}; use one of: {names}")
    return known[name]


def fixtures() -> dict[str, str]:
    """The capture or description of each fixture, by name."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "fixtures")
    return {one: path for one in sorted(os.listdir(folder)) if (path := _fixture_file(os.path.join(folder, one)))}


def _fixture_file(folder: str) -> str | None:
    paths = (os.path.join(folder, name) for name in ("capture.tar.gz", DESCRIPTION))
    return next((path for path in paths if os.path.isfile(path)), None)
