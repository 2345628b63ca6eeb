# SPDX-License-Identifier: Apache-2.0
"""A machine under examination: what the rules read, each part read or computed when a rule first asks for it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from railgauge.topo.compare.change import Change
from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.nccl_settings import Setting, read_host_file
from railgauge.topo.facts.sources.sysfs_net import addressed
from railgauge.topo.facts.sources.verbs import Verbs
from railgauge.topo.findings.topology_file.elements import TopoFile, of_machine, parsed
from railgauge.topo.machine import Machine, as_it_is, is_same_host
from railgauge.topo.nccl.detect.ib_plugin import NcclPort, nccl_ports, read_ib_settings
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.paths.paths import Paths, paths
from railgauge.topo.nccl.settings.hca import plugin_off
from railgauge.topo.nccl.settings.steering import Steering, read_steering

if TYPE_CHECKING:
    from railgauge.topo.findings.node.baseline import Baseline


class Case:
    """One machine, live or recorded, or a topology file alone.

    reader: of the machine's files and answers, None for a topology file. cost: how much a rule may ask (rule.py).
    gpus: those that are looked at, by NVML's index; None for all. settings: in place of those in force there.
    baseline: what was known of the machine when it was as it should be; None where nothing is compared.
    """

    def __init__(
        self,
        machine: Machine,
        *,
        cost: int = 1,
        gpus: tuple[int, ...] | None = None,
        settings: tuple[Setting, ...] | None = None,
        baseline: "Baseline | None" = None,
    ) -> None:
        self.machine = machine
        self.host = machine.host
        self.reader: Reader | None = machine.reader
        self.cost = cost
        self.baseline = baseline
        self._gpus = gpus
        self._settings = settings

    def under(self, settings: tuple[Setting, ...]) -> "Case":
        """The same machine under other settings."""
        return Case(self.machine, cost=self.cost, gpus=self._gpus, settings=settings)

    @cached_property
    def inventory(self) -> MachineFacts | None:
        """What there is beyond the topology; None for a topology file."""
        facts = self.machine.facts
        if facts is not None and self._settings is not None:
            facts = facts.but(settings=self._settings)
        return facts.of_gpus(self._gpus) if facts else None

    @cached_property
    def evidence(self) -> MachineFacts:
        """The same; of a topology file nothing is known."""
        return self.inventory or MachineFacts(CaptureReader(Capture(manifest={})))

    @cached_property
    def known_settings(self) -> tuple[Setting, ...]:
        """NCCL's settings in force on the machine; those of /etc/nccl.conf where nobody asked the environment."""
        if self.inventory is None or self.reader is None:
            return ()
        told = self.inventory.settings
        return read_host_file(self.reader) if told is None else told

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The same, as values by name."""
        return {setting.name: setting.value for setting in self.known_settings}

    @cached_property
    def verbs(self) -> Verbs:
        """What libibverbs tells of the RDMA devices."""
        return self.evidence.verbs

    @cached_property
    def rdma_ports(self) -> tuple[NcclPort, ...]:
        """The ports that NCCL's IB plugin uses under the settings, in its order; none where it is turned off."""
        if self.inventory is None or plugin_off(self.settings):
            return ()
        return nccl_ports(self.inventory.rdma, read_ib_settings(self.settings), self.verbs)

    @cached_property
    def interface_names(self) -> tuple[str, ...] | None:
        """The interfaces that sockets may use, before NCCL_SOCKET_IFNAME, in NCCL's order; None where it is not known
        which have an address.
        """
        facts = self.reader.facts("interfaces") if self.reader else None
        return None if self.reader is None or facts is None or "error" in facts else addressed(self.reader)

    @cached_property
    def steering(self) -> Steering:
        """What the settings make of levels and channels."""
        return read_steering(self.settings)

    @cached_property
    def file(self) -> TopoFile:
        """The topology as a file of it would be, for the linter's rules."""
        return of_machine(self.machine)

    @cached_property
    def alone(self) -> TopoFile:
        """`file` without the machine beside it: only what it tells by itself."""
        return replace(self.file, machine=None)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What differs from the machine of the baseline; none without one.

        InputError when one of the two is a topology file that contradicts itself.
        """
        from railgauge.topo.compare.diff import diff

        before = self.baseline.case if self.baseline else None
        if before is None:
            return ()
        sides = (replace(one.machine, facts=one.inventory) for one in (before, self))
        return diff(*sides, same_host=is_same_host(before.machine, self.machine))

    @property
    def named_file_unknown(self) -> bool:
        """Whether a recording leaves open which topology file is in force."""
        told = self.machine.topo_file or self.evidence.topo_file
        return told is None and self.inventory is not None and self.inventory.settings is None

    @cached_property
    def named_file(self) -> TopoFile | None:
        """The topology file in force, beside the machine as it is without; None without one.

        InputError when it is no topology file.
        """
        named = self.machine.topo_file or self.evidence.topo_file
        if named is None or named.text is None:
            return None
        return parsed(named.text.encode("utf-8", "surrogateescape"), named.path, as_it_is(self.machine))

    @cached_property
    def sound_file(self) -> TopoFile | None:
        """`named_file` where it can be read; topo-file-faulty tells of another."""
        try:
            return self.named_file
        except InputError:
            return None

    @cached_property
    def system(self) -> System:
        """Nodes and links, the ranks being the GPUs."""
        return self.machine.system

    @cached_property
    def table(self) -> Paths:
        """The paths between all ends, under the settings."""
        return paths(self.system, levels=self.steering.levels, denied=self.machine.denied)
