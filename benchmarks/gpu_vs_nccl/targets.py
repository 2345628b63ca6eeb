# SPDX-License-Identifier: Apache-2.0
"""The targets beside NCCL's best, as a share of its time."""

KIB, MIB = 1 << 10, 1 << 20
OF_COPIES = 0.9
"""Share of the copies' bandwidth in each direction, both at once: the least bus bandwidth of all_reduces from 128
MiB."""
LARGE = 128 * MIB
ALL_REDUCE = ((64 * KIB, 0.6), (8 * MIB, 0.8), (64 * MIB, 0.95))
"""Up to this many bytes; above, BEYOND."""
BEYOND = 0.98
IN_GRAPHS = (32 * KIB, 0.5)
OVER_HOST = 0.9
"""Through memory of the host, and over sockets."""


def wanted(collective: str, size: int, launch: str, *, over_host: bool) -> float:
    """The largest acceptable share of NCCL's time."""
    if over_host:
        return OVER_HOST
    if collective != "all_reduce":
        return 0.9 if size < 8 * MIB else 1.0
    if launch == "graph" and size <= IN_GRAPHS[0]:
        return IN_GRAPHS[1]
    return next((share for most, share in ALL_REDUCE if size <= most), BEYOND)
