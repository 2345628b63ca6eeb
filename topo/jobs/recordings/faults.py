# SPDX-License-Identifier: Apache-2.0
"""What `check` finds on a machine's devices that recordings point at."""

from functools import cached_property

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.machine import Machine


class MachineFaults:
    """What `check` finds on the devices of a machine, looked up once something points at one."""

    def __init__(self, machine: Machine | None) -> None:
        self.machine = machine

    @cached_property
    def _found(self) -> tuple[Finding, ...]:
        from railgauge.topo.findings.node.rules import check

        found = check(self.machine) if self.machine else ()
        return tuple(one for one in found if one.level in (Level.WARN, Level.FAIL))

    def of(self, names: tuple[str, ...]) -> str:
        """Those on devices by their names or bus ids, in words; "" for none."""
        wanted = {name for name in names if name}
        if self.machine is None or not wanted:
            return ""
        devices = {port.device.name: port.device.bus_id for port in self.machine.rdma_ports if port.device.bus_id}
        wanted |= {devices[name] for name in wanted & devices.keys()}
        found = [
            f"{one.id} {one.subject}" for one in self._found if any(is_about(one.subject, name) for name in wanted)
        ]
        return f"; railgauge check: {', '.join(dict.fromkeys(found))}" if found else ""


def is_about(subject: str, name: str) -> bool:
    """Whether a finding's subject is that device, or a part of it (mlx5_0:1)."""
    return subject == name or (subject.startswith(name) and not subject[len(name)].isalnum())
