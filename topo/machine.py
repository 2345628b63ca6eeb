# SPDX-License-Identifier: Apache-2.0
"""A machine: live, or from a capture, a description, a fixture (@name) or a topology XML."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.expect.expectations import NOTHING_EXPECTED, Expectations
from railgauge.topo.facts.capture import Capture, CaptureReader, dumps
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.named_source import Source, open_source, with_kernel_log
from railgauge.topo.facts.reader import LiveReader, Reader
from railgauge.topo.facts.shapes import FACTS, LATER_FACTS
from railgauge.topo.facts.sources.host_identity import host_name
from railgauge.topo.facts.sources.nccl_settings import Setting, of_nccl, read_host_file
from railgauge.topo.facts.sources.nccl_topo_file import NamedFile
from railgauge.topo.facts.sources.sysfs_net import addressed
from railgauge.topo.files.compression import WRITERS
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.files.output_file import write_file
from railgauge.topo.nccl.detect.class_only import completed
from railgauge.topo.nccl.detect.ib_plugin import NcclPort, nccl_ports, read_ib_settings
from railgauge.topo.nccl.detect.pasted_topology import pasted_topology
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.detect.topo_file import heard
from railgauge.topo.nccl.graph.link_facts import running
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.graph.peer_status import denied_pairs
from railgauge.topo.nccl.graph.remarks import remarks
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.settings.hca import plugin_off
from railgauge.topo.nccl.settings.interfaces import socket_interfaces
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.text import MAX_BYTES
from railgauge.topo.xml.topology import Topology

if TYPE_CHECKING:
    from railgauge.topo.nccl.paths.paths import Paths
    from railgauge.topo.nccl.settings.steering import Steering


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A snapshot of a machine: its topology, warnings about what could not be read, and the host's name ("" if a file
    does not have it). What is computed from it is computed once and kept.

    `facts`: what there is beyond the topology, of the GPUs that were asked for; None for a topology file. `environment`
    holds NCCL's settings where they apply: on the live machine, and in a capture that was saved with them. `topo_file`:
    the topology file that was given to start from, or that is inspected. `beside`: the machine with which an inspected
    file is compared; None if it is judged by itself. `expected`: what an operator expects of it.
    """

    topology: Topology
    warnings: tuple[str, ...] = ()
    host: str = ""
    facts: MachineFacts | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    topo_file: NamedFile | None = None
    beside: "Machine | None" = None
    expected: Expectations = NOTHING_EXPECTED

    @property
    def reader(self) -> Reader | None:
        """What reads the machine itself, or its capture; None for a topology file."""
        return self.facts.reader if self.facts else None

    @cached_property
    def running(self) -> Topology:
        """The topology with what its links run at where that is less than NCCL plans with."""
        return running(self.topology, self.facts)

    @cached_property
    def system(self) -> System:
        """Nodes and links, the ranks being the GPUs."""
        return build_system(self.running)

    @cached_property
    def denied(self) -> frozenset[tuple[str, str]]:
        """Pairs of GPUs to which NVML gives no peer access, by id."""
        return denied_pairs(self.system, self.reader)

    @cached_property
    def sources(self) -> MachineFacts:
        """The facts; empty for a topology file."""
        return self.facts or MachineFacts(CaptureReader(Capture(manifest={})))

    @cached_property
    def known_settings(self) -> tuple[Setting, ...]:
        """NCCL's settings in force; only those of /etc/nccl.conf where the environment is unknown."""
        if self.facts is None:
            return ()
        return read_host_file(self.facts.reader) if self.facts.settings is None else self.facts.settings

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The same, as values by name."""
        return {setting.name: setting.value for setting in self.known_settings}

    @cached_property
    def steering(self) -> "Steering":
        """Path levels and channel counts that follow from the settings."""
        from railgauge.topo.nccl.settings.steering import read_steering

        return read_steering(self.settings)

    @cached_property
    def paths(self) -> "Paths":
        """The paths between all ends, under the settings."""
        from railgauge.topo.nccl.paths.paths import paths

        return paths(self.system, levels=self.steering.levels, denied=self.denied)

    @cached_property
    def rdma_ports(self) -> tuple[NcclPort, ...]:
        """The ports that NCCL's IB plugin uses under the settings, in its order; empty if it is disabled."""
        if self.facts is None or plugin_off(self.settings):
            return ()
        return nccl_ports(self.facts.rdma, read_ib_settings(self.settings), self.facts.verbs)

    @cached_property
    def interface_names(self) -> tuple[str, ...] | None:
        """The interfaces that sockets may use, before NCCL_SOCKET_IFNAME, in NCCL's order; None if their addresses are
        unknown.
        """
        if self.reader is None:
            return None
        told = self.reader.facts("interfaces")
        return None if told is None or "error" in told else addressed(self.reader)

    def sockets_under(self, settings: Mapping[str, str], *, former: bool = False) -> tuple[str, ...] | None:
        """The interfaces that sockets use under some settings, in NCCL's order (`former`: before 2.28); None if
        addresses are unknown.
        """
        if self.reader is None or self.interface_names is None:
            return None
        return socket_interfaces(self.reader, settings, former=former)

    @property
    def topo_file_unknown(self) -> bool:
        """Whether a capture does not show which topology file is in force."""
        if self.facts is None or self.facts.settings is not None:
            return False
        return self.topo_file is None and self.facts.topo_file is None

    @cached_property
    def file_in_force(self) -> "Machine | None":
        """The topology file in force, beside the machine as detected without it; None without a file.

        InputError if it is not a topology file.
        """
        named = self.topo_file or self.sources.topo_file
        if named is None or named.content is None:
            return None
        return inspected(named.content, named.path, as_it_is(self))

    @cached_property
    def sound_file(self) -> "Machine | None":
        """`file_in_force` if it can be read; if not, topo-file-faulty reports it."""
        try:
            return self.file_in_force
        except InputError:
            return None

    def under(self, settings: tuple[Setting, ...]) -> "Machine":
        """This machine under other settings."""
        return self.like("system", "denied", facts=self.facts and self.facts.but(settings=settings))

    def like(self, *computed: str, **fields: Any) -> "Machine":
        """This machine with other fields; `computed` names what was computed and stays true."""
        other = replace(self, **fields)
        vars(other).update({name: known for name, known in vars(self).items() if name in computed})
        return other


def load_machine(
    source: Source = None,
    *,
    root: str = "/",
    gpus: tuple[int, ...] | None = None,
    topo_file: str | None = None,
    environment: Mapping[str, str] = os.environ,
    tolerant: bool = False,
    dmesg: str | None = None,
) -> Machine:
    """Load what `source` names: None the live machine below `root`, "@name" a fixture, else a capture, a
    description (.toml), a topology file, or output of other tools, of which several names are one host.

    `gpus` (NVML indices, in rank order) limits a live or captured machine, `topo_file` is the topology file that such
    a scan starts from. Settings of NCCL in `environment` (NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_TOPO_FILE,
    CUDA_VISIBLE_DEVICES, ...) apply to the live machine only; a capture has its own. `dmesg`: a file in place of the
    machine's kernel log. InputError when `source` or `topo_file` is unreadable, and, unless `tolerant`, where
    NCCL_TOPO_FILE names an invalid file.
    """
    reader, data = open_source(source, root)
    if reader is not None:
        reader = reader if dmesg is None else with_kernel_log(reader, dmesg)
        applied = environment if source is None else getattr(reader, "environment", {})
        if topo_file is None:
            return _scanned(reader, applied, gpus, None, tolerant=tolerant)
        data = read_bytes(topo_file, MAX_BYTES)
        machine = _scanned(reader, applied, gpus, topology_file.loads(data, topo_file))
        return replace(machine, topo_file=NamedFile(path=topo_file, text=data.decode("utf-8", "surrogateescape")))
    if gpus is not None or topo_file is not None or dmesg is not None:
        raise UsageError("--gpus, --topo-file and --dmesg need a machine or a capture, not a topology XML")
    path = "".join(source) if source and not isinstance(source, Capture) else ""
    topology, read = pasted_topology(data, path)
    if not topology.cpus:
        raise InputError("has no <cpu> element, below which every device has to be", path, topology.root.line)
    topology, assumed = completed(topology)
    return Machine(topology=topology, warnings=(*read, *assumed, *remarks(topology)))


def inspected(data: bytes, path: str, beside: Machine | None = None) -> Machine:
    """A topology file in place of a machine, as NCCL reads it, with the facts of the machine that it is for.

    InputError with the line if it is not a topology file.
    """
    return Machine(
        topology=heard(topology_file.loads(data, path)),
        topo_file=NamedFile(path=path, text=data.decode("utf-8", "surrogateescape")),
        host=beside.host if beside else "",
        facts=beside.facts if beside else None,
        beside=beside,
    )


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
    reader, _ = open_source(None, root)
    assert isinstance(reader, LiveReader)
    return _read_whole(reader, environment or {}, later=later)


def _read_whole(reader: LiveReader, environment: Mapping[str, str], *, later: bool) -> tuple[Capture, tuple[str, ...]]:
    from railgauge.topo.facts.recording import capture_of

    machine = recorded(reader)
    MachineFacts(reader).read_all()
    for name in FACTS:
        if later or name not in LATER_FACTS:
            reader.facts(name)
    return capture_of(reader, machine.host, of_nccl(environment)), machine.warnings


def snapshot(
    source: Source, environment: Mapping[str, str], *, later: bool = False, dmesg: str | None = None
) -> Capture:
    """A capture of the machine that `source` names (see load_machine), read once.

    Its answers are those of the machine under the settings in `environment`; `dmesg`: see load_machine.

    UsageError for a topology file.
    """
    reader, _ = open_source(source)
    reader = reader if reader is None or dmesg is None else with_kernel_log(reader, dmesg)
    if isinstance(reader, LiveReader):
        return _read_whole(reader, environment if source is None else {}, later=later)[0]
    if isinstance(reader, CaptureReader):
        return reader.capture
    raise UsageError(f"{source} is a topology file, not a machine: no capture can be made of it")


def saved(
    path: str,
    source: Source,
    environment: Mapping[str, str],
    *,
    later: bool = False,
    dmesg: str | None = None,
) -> Capture:
    """A snapshot (see there) that is written to `path` as well.

    UsageError for a name without the suffix of an archive, UnavailableError where it cannot be written.
    """
    suffix = capture_suffix(path)
    capture = snapshot(source, environment, later=later, dmesg=dmesg)
    write_file(path, dumps(capture, suffix))
    return capture


def capture_suffix(path: str) -> str:
    """The format of the archive that --save-capture names; UsageError for a name without the suffix of one."""
    found = next((suffix for suffix in WRITERS if path.endswith(suffix)), None)
    if found is None:
        raise UsageError(f"--save-capture {path}: give a name that ends in {' or '.join(WRITERS)}")
    return found


def _scanned(
    reader: Reader,
    environment: Mapping[str, str],
    gpus: tuple[int, ...] | None,
    topo_file: Topology | None,
    *,
    tolerant: bool = False,
) -> Machine:
    result = scan(reader, environment, gpus, topo_file, tolerant=tolerant)
    assumed = tuple(f"assumed: {one}" for one in getattr(reader, "assumed", ()))
    warnings = (*assumed, *result.warnings, *remarks(result.topology))
    host = host_name(reader) or ""
    return Machine(
        topology=result.topology,
        warnings=warnings,
        host=host,
        facts=MachineFacts(reader).of_gpus(gpus),
        environment=environment,
    )
