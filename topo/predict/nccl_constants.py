# SPDX-License-Identifier: Apache-2.0
"""Figures of NCCL's tuning model, by Protocol in the order LL, LL128, Simple where a row has three.

Source: `ncclTunerConstantsDefaults`, `treeCorrectionFactor`, `getNetOverhead` (src/graph/tuning.cc), PCI_BW
(src/graph/topo.h), the thread limits of src/include/device.h and the thresholds of src/include/comm.h, NCCL v2.29.7-1
to v2.30.7-1. Versions 2.28 and 2.29.2 to 2.29.3 differ in one row: Blackwell's of RING_LL128_MOST.
"""

from railgauge.topo.nccl.settings.algorithm import Algorithm, Protocol

ORDER = (Protocol.LL, Protocol.LL128, Protocol.SIMPLE)
RING, TREE = Algorithm.RING, Algorithm.TREE
Row = tuple[float, float, float]

BASE_US: dict[Algorithm, Row] = {TREE: (6.8, 14.0, 8.4), RING: (6.6, 14.0, 8.4)}
STEP_US: dict[str, dict[Algorithm, Row]] = {
    "NVLINK": {TREE: (0.6, 1.25, 4.0), RING: (0.6, 1.9, 3.4)},
    "PCI": {TREE: (1.0, 1.9, 4.0), RING: (1.0, 2.5, 5.7)},
    "NET": {TREE: (5.0, 8.5, 14.0), RING: (2.7, 4.0, 14.0)},
}
# Rows by GPU generation (Volta and older, Ampere, Hopper, Blackwell); columns for 1, 2, and more nodes; GB/s.
GENERATIONS = (80, 90, 100)  # the compute capability that each generation after the first begins with
LL_MOST: tuple[Row, ...] = ((39.0, 39.0, 20.4), (87.7, 22.5, 19.0), (141.0, 45.0, 35.0), (282.0, 90.0, 70.0))
RING_LL128_MOST: tuple[Row, ...] = ((20.0,) * 3, (20.0,) * 3, (36.7,) * 3, (40.0,) * 3)
TREE_LL128_MOST: tuple[Row, ...] = ((20.0,) * 3, (20.0,) * 3, (36.7, 36.7, 29.0), (55.6, 31.67, 20.0))
TREE_MOST: tuple[Row, ...] = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (70.0, 42.8, 24.0))
# GB/s of a channel of several nodes on the machines of each generation that the three above fit: a NIC on PCIe Gen3 x16
# (DGX-1), of 200 Gb/s on Gen4 (DGX A100), of 400 Gb/s on Gen5 (DGX H100, B200). Not NCCL's: it has the maxima alone.
MEASURED_ON = (12.0, 24.0, 48.0, 48.0)
# What a tree reaches of its bandwidth at 64 B, 128 B, ... 256 MiB (beyond: all of it).
TREE_SHARE: dict[Protocol, tuple[float, ...]] = {
    Protocol.LL: (
        *(1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5),
        *(0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0),
    ),
    Protocol.LL128: (
        *(1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6),
        *(0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0),
    ),
    Protocol.SIMPLE: (
        *(0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5),
        *(0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9),
    ),
}
RING_PLATEAU = {False: 1.9, True: 1.4}  # by sm >= 80: latency of a ring over several nodes once each step has data
PLATEAU_BYTES = 64  # for each channel and rank
NET_OVERHEAD_US = {"AuthenticAMD": 2.0}
NET_OVERHEAD_ELSE_US = 1.0
MOST_THREADS = {Protocol.LL: 512, Protocol.LL128: 640, Protocol.SIMPLE: 512}
THREADS_OVER_PCI = 256  # of a Simple ring no faster than one PCI Gen3 x16
PCI_GB_PER_S = 12.0
BYTES_A_THREAD = {Protocol.LL: 8, Protocol.LL128: 8, Protocol.SIMPLE: 64}  # fewer, and NCCL uses fewer channels


def generation_of(sm: int) -> int:
    """The row of a compute capability."""
    return sum(sm >= first for first in GENERATIONS)
