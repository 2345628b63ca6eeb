# SPDX-License-Identifier: Apache-2.0
"""The error counters of RDMA ports: /sys/class/infiniband/D/ports/P/{counters,hw_counters}.

Kernel: Documentation/ABI/stable/sysfs-class-infiniband; hw_counters are those of mlx5 and of rdma-core's drivers.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import LiveReader, Reader
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS
from railgauge.topo.values.number import natural, whole

ERRORS = {
    "counters": (
        "symbol_error",
        "link_downed",
        "link_error_recovery",
        "port_rcv_errors",
        "port_rcv_remote_physical_errors",
        "port_rcv_constraint_errors",
        "port_xmit_discards",
        "port_xmit_constraint_errors",
        "VL15_dropped",
        "local_link_integrity_errors",
        "excessive_buffer_overrun_errors",
    ),
    "hw_counters": (
        "local_ack_timeout_err",
        "out_of_sequence",
        "packet_seq_err",
        "implied_nak_seq_err",
        "rnr_nak_retry_err",
        "req_transport_retries_exceeded",
        "req_rnr_retries_exceeded",
        "req_remote_access_errors",
        "req_remote_invalid_request",
        "resp_local_length_error",
        "duplicate_request",
        "out_of_buffer",
        "roce_adp_retrans",
        "roce_adp_retrans_to",
        "roce_slow_restart",
        "rx_icrc_encapsulated",
    ),
}

LATER = "port_errors_later"  # the second reading, as a fact
BETWEEN_S = 1.0
"""Seconds between the two readings of `live_later`."""


class PortErrors(NamedTuple):
    """The counters of one port that could be read, by name."""

    device: str
    port: int
    counts: Mapping[str, int]


class PortErrorsTwice(NamedTuple):
    """The counters of all ports before and after some seconds."""

    before: tuple[PortErrors, ...]
    after: tuple[PortErrors, ...]
    seconds: float


def live_later() -> dict[str, Any]:
    """{"before": [{"device", "port", "counts"}, ...], "ports": the same BETWEEN_S later, "between_ms"}.

    Readings on purpose, of readers of their own: one snapshot cannot show a rising counter.
    """
    before, begin = read_port_errors(LiveReader()), time.monotonic_ns()
    time.sleep(BETWEEN_S)
    after, end = read_port_errors(LiveReader()), time.monotonic_ns()
    ports = {"before": [port._asdict() for port in before], "ports": [port._asdict() for port in after]}
    return ports | {"between_ms": max(1, (end - begin) // 1_000_000)}


def read_twice(reader: Reader, first: tuple[PortErrors, ...]) -> PortErrorsTwice | None:
    """Both readings; None if they were not taken. `first`: for captures of releases that kept the second alone."""
    answer = reader.facts(LATER)
    if answer is None:
        return None
    before, after = (
        tuple(PortErrors(**port) for port in answer[name]) if name in answer else first for name in ("before", "ports")
    )
    return PortErrorsTwice(before=before, after=after, seconds=answer.get("between_ms", BETWEEN_S * 1000) / 1000)


def read_port_errors(reader: Reader) -> tuple[PortErrors, ...]:
    """Those of all ports, mlx5_2 before mlx5_10."""
    devices = sorted(reader.entries(CLASS), key=natural)
    numbers = ((name, whole(port)) for name in devices for port in reader.entries(f"{CLASS}/{name}/ports"))
    return tuple(
        PortErrors(device=name, port=port, counts=_counts(reader, f"{CLASS}/{name}/ports/{port}"))
        for name, port in numbers
        if port
    )


def _counts(reader: Reader, folder: str) -> dict[str, int]:
    paths = {name: f"{folder}/{group}/{name}" for group, names in ERRORS.items() for name in names}
    found = {name: whole(reader.text(path)) for name, path in paths.items()}
    return {name: count for name, count in found.items() if count is not None}
