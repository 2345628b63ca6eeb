# SPDX-License-Identifier: Apache-2.0
"""What `check` finds on the devices of a job's hosts that recordings point at."""

from collections.abc import Iterable, Mapping

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.recordings.machines import JobMachines


class MachineFaults:
    """What `check` finds on devices of the hosts, looked up once something points at one."""

    def __init__(self, machines: JobMachines) -> None:
        self.machines = machines
        self._found: dict[int, tuple[Finding, ...]] = {}

    def of(self, devices: Mapping[str, Iterable[str]]) -> str:
        """Those on devices by their names or bus ids, by host, in words; "" for none."""
        parts = []
        for host, names in devices.items():
            if found := self._of_host(host, {name for name in names if name}):
                on = f" on {host}" if self.machines.is_cluster else ""
                parts.append(f"; railgauge check{on}: {', '.join(found)}")
        return "".join(dict.fromkeys(parts))

    def _of_host(self, host: str, wanted: set[str]) -> list[str]:
        machine = self.machines.of(host)
        if machine is None or not wanted:
            return []
        if id(machine) not in self._found:
            from railgauge.topo.findings.node.rules import check

            self._found[id(machine)] = tuple(one for one in check(machine) if one.level in (Level.WARN, Level.FAIL))
        bus_ids = {port.device.name: port.device.bus_id for port in machine.rdma_ports if port.device.bus_id}
        wanted |= {bus_ids[name] for name in wanted & bus_ids.keys()}
        about = [one for one in self._found[id(machine)] if any(is_about(one.subject, name) for name in wanted)]
        return list(dict.fromkeys(f"{one.id} {one.subject}" for one in about))


def is_about(subject: str, name: str) -> bool:
    """Whether a finding's subject is that device, or a part of it (mlx5_0:1)."""
    return subject == name or (subject.startswith(name) and not subject[len(name)].isalnum())
