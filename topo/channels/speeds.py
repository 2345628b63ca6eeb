# SPDX-License-Identifier: Apache-2.0
"""The speeds a channel may have, in GB/s: NCCL tries no others (speed arrays of src/graph/search.cc, 2.30)."""

INTRA = (40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0)
INTER = (48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24, 0.12)
INTRA_SM90 = (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0)
INTER_SM90 = (48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12)
INTRA_SM100 = (90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0)
INTER_SM100 = (96.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12)

HOST = (6.0, 5.0, 4.0, 3.0, 2.4, 2.0, 1.5, 1.2)  # ours: one core drives a channel (host_ranks.py)


def candidates(sm: int | None, nodes: int) -> tuple[float, ...]:
    """Speeds to try, falling, for the least compute capability among the ranks (None: host ranks)."""
    if sm is None:
        return HOST if nodes == 1 else tuple(speed for speed in INTER if speed <= HOST[0])
    if sm >= 100:
        return INTRA_SM100 if nodes == 1 else INTER_SM100
    if sm >= 90:
        return INTRA_SM90 if nodes == 1 else INTER_SM90
    return INTRA if nodes == 1 else INTER
