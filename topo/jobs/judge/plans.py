# SPDX-License-Identifier: Apache-2.0
"""What NCCL would run on machines; its search is made once for all settings that it does not read."""

from collections.abc import Mapping
from dataclasses import replace

from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.steering import read_steering
from railgauge.topo.predict.nvlink_domain import FIRST
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.planned import planned
from railgauge.topo.predict.release import Release, known_release


class Plans:
    """Plans by machine and by the settings that NCCL's search reads."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], tuple[Machine, NodePlan]] = {}

    def plan(self, machine: Machine, nodes: int, settings: Mapping[str, str], release: Release | None) -> NodePlan:
        """As `planned`."""
        steering, release = read_steering(settings), release or known_release(machine.sources.nccl)
        domains = steering.mnnvl and release >= FIRST
        key = id(machine), nodes, domains, steering.levels, steering.cross_nic
        if key not in self._found:
            # with the machine, so that no other one gets its id
            self._found[key] = machine, planned(machine, nodes, settings, release)
        return replace(self._found[key][1], steering=steering, release=release)
