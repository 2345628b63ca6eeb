# SPDX-License-Identifier: Apache-2.0
"""Tables between two devices, beside what connects them: nvbandwidth's matrices of copies, and perftest over a NIC."""

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from railgauge.topo.errors import Error
from railgauge.topo.findings.cards.measured import NUMBER_LOW
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.judge.curve import Sized, measured, reached
from railgauge.topo.jobs.judge.judged_table import JudgedTable
from railgauge.topo.jobs.judge.shape import of_table, subject
from railgauge.topo.jobs.tables.table import MeasuredTable, Program, TableRow
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.ends import find_end
from railgauge.topo.nccl.graph.model import Node, NodeKind
from railgauge.topo.predict.comparison import size_text

GOOD, AWFUL = 0.75, 0.5
"""Shares of what the path carries: WARN below the first, FAIL below the second."""
COPIES = ("host_to_device_memcpy", "device_to_host_memcpy", "device_to_device_memcpy", "device_to_device_bidirectional")
"""nvbandwidth's tests of one copy at a time (README.md of nvbandwidth)."""
LONG = 64 << 10
"""Messages from which perftest is limited by the wire and not by the rate of messages."""
LATENCY_US = {"write": 4.0, "send": 4.0, "read": 8.0, "atomic": 8.0}
"""Twice what NICs of 100 Gb/s and more take through one switch: 1 to 2 us in one direction; a read is a round trip."""
HOST = "CPU"
UNNAMED = "the table names neither its test nor devices of the machine"


class Copy(NamedTuple):
    """The GB/s of a copy from one device to another, and of the path between them, None where that is unknown."""

    source: str
    target: str
    gb_per_s: float
    path_gb_per_s: float | None

    @property
    def words(self) -> str:
        """Which one."""
        return f"{self.source} -> {self.target}"


def of_devices(table: MeasuredTable) -> bool:
    """Whether a table is judged here."""
    return table.program in (Program.NVBANDWIDTH, Program.PERFTEST)


def judge_devices(table: MeasuredTable, machine: Machine | None, why_no_machine: str) -> JudgedTable:
    """Judge a table between devices beside its machine."""
    if table.program is Program.PERFTEST:
        return _perftest(table, machine, why_no_machine)
    return _matrix(table, machine, why_no_machine)


def _matrix(table: MeasuredTable, machine: Machine | None, why: str) -> JudgedTable:
    found = [
        Copy(row.source, row.target, by, _path(table, row, machine))
        for row in table.rows
        if (by := row.out_of_place.algbw_gb_per_s)
    ]
    known = [one.path_gb_per_s for one in found if one.path_gb_per_s]
    return _judged(
        table,
        reached=median(one.gb_per_s for one in found) if found else None,
        bound=median(known) if known else None,
        why="" if known else why or "what connects the devices is not known",
        findings=(*of_table(table), *_of_matrix(table, found, why)),
    )


def _of_matrix(table: MeasuredTable, found: list[Copy], why: str) -> Iterator[Finding]:
    known = [one for one in found if one.path_gb_per_s]
    if known:
        yield _worst(table, [(one.gb_per_s / (one.path_gb_per_s or 1.0), one) for one in known], "its path carries")
        return
    usual = median(one.gb_per_s for one in found) if found else 0.0
    if low := [(one.gb_per_s / usual, one) for one in found if one.gb_per_s < GOOD * usual]:
        whole = [one._replace(path_gb_per_s=usual) for _, one in low]
        yield _worst(table, [(one.gb_per_s / usual, one) for one in whole], "the others reach")
    elif found:
        alike = f"{len(found)} copies differ little, but " if len(found) > 1 else ""
        message = f"{alike}what the path between the devices carries is not known: {why or UNNAMED}"
        yield NUMBER_LOW.finding(Level.UNKNOWN, subject(table), message, fix=False)


def _worst(table: MeasuredTable, shares: list[tuple[float, Copy]], whose: str) -> Finding:
    share, worst = min(shares, key=lambda each: each[0])
    low = [each for each in shares if each[0] < GOOD]
    level = Level.PASS if not low else Level.WARN if share >= AWFUL else Level.FAIL
    message = f"{worst.words}: {worst.gb_per_s:.4g} GB/s, {share:.0%} of the {worst.path_gb_per_s:.4g} that {whose}"
    if len(low) > 1:
        message += f"; {len(low) - 1} more of {len(shares)} copies are low"
    evidence = {"source": worst.source, "target": worst.target, "reached_gb_per_s": worst.gb_per_s, "share": share}
    return NUMBER_LOW.finding(level, subject(table), message, evidence=evidence)


def _path(table: MeasuredTable, row: TableRow, machine: Machine | None) -> float | None:
    """GB/s between the devices of a row; a total of both directions is twice that."""
    if machine is None or not table.test.startswith(COPIES):
        return None
    system = machine.system
    try:
        source, target = (
            None if name.startswith(HOST) else find_end(system, name) for name in (row.source, row.target)
        )
        if source and target:
            speed = machine.paths.get(source.id, target.id).real_gb_per_s
        elif gpu := source or target:
            speed = _to_host(machine, gpu)
        else:
            return None
    except (Error, KeyError, ValueError):
        return None
    return speed * table.directions


def _to_host(machine: Machine, end: Node) -> float:
    """GB/s between a GPU or NIC and the nearest host memory."""
    cpus = machine.system.kind(NodeKind.CPU)
    return max(machine.paths.get(end.id, cpu.id).real_gb_per_s for cpu in cpus)


def _perftest(table: MeasuredTable, machine: Machine | None, why: str) -> JudgedTable:
    if table.test.endswith("_lat"):
        return _judged(table, why=why, findings=(*of_table(table), *_latency(table)))
    curve = measured(table)
    long = [one for one in curve if one.size >= LONG]
    nic = None if machine is None else _nic(table, machine)
    findings = [*of_table(table)]
    if not curve:
        return _judged(table, findings=tuple(findings), why="no bandwidth in the table")
    if nic and long:
        name, rate = nic
        share, level = reached(long) / rate, Level.PASS
        if share < GOOD:
            level = Level.WARN if share >= AWFUL else Level.FAIL
        message = f"{reached(long):.4g} GB/s up to {size_text(long[-1].size)}, {share:.0%} of the {rate:.4g} of {name}"
        evidence = {"reached_gb_per_s": reached(long), "forecast_gb_per_s": rate, "share": share}
        findings.append(NUMBER_LOW.finding(level, table.nic or subject(table), message, evidence=evidence))
    else:
        elsewhere = f"{table.nic or 'the NIC'} is not on the machine, or its NICs differ"
        why = (elsewhere if machine else why) if long else "no message of 64 KiB or more"
        message = f"no forecast to compare with: {why}"
        findings.append(NUMBER_LOW.finding(Level.UNKNOWN, table.nic or subject(table), message, fix=False))
    return _judged(
        table,
        curve=tuple(curve),
        reached=reached(long or curve),
        bound=nic[1] if nic and long else None,
        why=why,
        findings=tuple(findings),
    )


def _nic(table: MeasuredTable, machine: Machine) -> tuple[str, float] | None:
    """A NIC's name, and the GB/s of its port or of its PCIe link in the directions of the table."""
    nets = [net for net in machine.system.nets if table.nic in ("", net.name)]
    speeds = {_to_host(machine, net) for net in nets}
    return (table.nic or "each NIC", speeds.pop() * table.directions) if len(speeds) == 1 else None


def _latency(table: MeasuredTable) -> Iterator[Finding]:
    """The shortest message, which needs no machine: RDMA through one switch takes about as long everywhere."""
    times = [(row.size, row.out_of_place.time_us) for row in table.rows if row.out_of_place.time_us]
    most = next((us for kind, us in LATENCY_US.items() if f"_{kind}_" in table.test), None)
    if not times or most is None:
        return
    size, us = min(times)
    message = f"{us:g} us at {size} B; one switch allows {most / 2:g}"
    level = Level.PASS if us <= most else Level.WARN
    yield NUMBER_LOW.finding(level, table.nic or subject(table), message, evidence={"time_us": us, "bytes": size})


def _judged(
    table: MeasuredTable,
    *,
    curve: tuple[Sized, ...] = (),
    reached: float | None = None,
    bound: float | None = None,
    why: str = "",
    findings: tuple[Finding, ...] = (),
) -> JudgedTable:
    return JudgedTable(
        table=table,
        curve=curve,
        reached=reached,
        forecast={one.size: bound for one in curve} if bound else None,
        bound=bound,
        causes=(),
        departs=(),
        why_no_forecast="" if bound else why,
        findings=findings,
    )
