# SPDX-License-Identifier: Apache-2.0
"""A NUMA node of a host."""

from typing import NamedTuple


class NumaNode(NamedTuple):
    """One NUMA node of the host: its cores and, if the firmware reports it, the read bandwidth of its memory.

    read_gb_per_s is from sysfs node*/access0/initiators/read_bandwidth (HMAT), None where that is absent.
    """

    id: int
    cpus: tuple[int, ...]
    read_gb_per_s: float | None = None
