# SPDX-License-Identifier: Apache-2.0
"""The error counters of RDMA ports: /sys/class/infiniband/D/ports/P/{counters,hw_counters}.

Kernel: Documentation/ABI/stable/sysfs-class-infiniband; hw_counters are those of mlx5 and of rdma-core's drivers.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from railgauge.topo.facts.reader import LiveReader, Reader
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS
from railgauge.topo.values.number import natural, whole

ERRORS = {
    "counters": (
        "symbol_error",
        "link_downed",
        "link_error_recovery",
        "port_rcv_errors",
        "port_xmit_discards",
        "local_link_integrity_errors",
        "excessive_buffer_overrun_errors",
    ),
    "hw_counters": (
        "local_ack_timeout_err",
        "out_of_sequence",
        "packet_seq_err",
        "implied_nak_seq_err",
        "rnr_nak_retry_err",
        "roce_adp_retrans",
        "roce_slow_restart",
        "rx_icrc_encapsulated",
    ),
}

LATER = "port_errors_later"  # the second reading, as a fact
BETWEEN_S = 1.0
"""Seconds from the first reading to the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortErrors:
    """The counters of one port that could be read, by name."""

    device: str
    port: int
    counts: Mapping[str, int]


def live_later() -> dict[str, Any]:
    """{"ports": [{"device", "port", "counts"}, ...]}: the counters of this machine as they stand BETWEEN_S later.

    A second reading on purpose, of a reader of its own: one reading cannot show a rising counter.
    """
    time.sleep(BETWEEN_S)
    return {"ports": [asdict(port) for port in read_port_errors(LiveReader())]}


def read_later(reader: Reader) -> tuple[PortErrors, ...]:
    """The second reading; none if it was not taken."""
    answer = reader.facts(LATER) or {"ports": ()}
    return tuple(PortErrors(**port) for port in answer["ports"])


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
