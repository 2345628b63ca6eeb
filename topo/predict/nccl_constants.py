# SPDX-License-Identifier: Apache-2.0
"""Figures of NCCL's tuning model, by Protocol in the order LL, LL128, Simple where a row has several.

Source: `ncclTunerConstantsDefaults`, `treeCorrectionFactor`, `getNetOverhead` (src/graph/tuning.cc), PCI_BW
(src/graph/topo.h), the thread limits of src/include/device.h and the thresholds of src/include/comm.h, NCCL v2.18.3-1
to v2.30.7-1; what changed is by release.
"""

from railgauge.topo.nccl.settings.algorithm import Algorithm, Protocol
from railgauge.topo.predict.release import Release, Since, since

ORDER = (Protocol.LL, Protocol.LL128, Protocol.SIMPLE)
RING, TREE = Algorithm.RING, Algorithm.TREE
Row = tuple[float, float, float]

BASE_US: dict[Algorithm, tuple[float, ...]] = {TREE: (6.8, 14.0), RING: (6.6, 14.0, 8.4)}
STEP_US: dict[str, dict[Algorithm, tuple[float, ...]]] = {
    "NVLINK": {TREE: (0.6, 1.25), RING: (0.6, 1.9, 3.4)},
    "PCI": {TREE: (1.0, 1.9), RING: (1.0, 2.5, 5.7)},
    "NET": {TREE: (5.0, 8.5), RING: (2.7, 4.0, 14.0)},
}
# Of a Simple tree: base (""), and by what a step runs over.
TREE_SIMPLE_US: Since[dict[str, float]] = (
    ((2, 23, 4), {"": 8.4, "NVLINK": 4.0, "PCI": 4.0, "NET": 14.0}),
    ((2, 19, 3), {"": 0.0, "NVLINK": 28.0, "PCI": 28.0, "NET": 28.0}),
    ((2, 18, 3), {"": 0.0, "NVLINK": 4.0, "PCI": 6.0, "NET": 14.0}),
)
RING_LL_SHARE: Since[float] = (((2, 21, 5), 1 / 2), ((2, 18, 3), 1 / 4))
# Rows by GPU generation (Volta and older, Ampere, Hopper, Blackwell); columns for 1, 2, and more nodes; GB/s.
GENERATIONS = (80, 90, 100)  # the compute capability that each generation after the first begins with
Most = tuple[Row, ...]
VOLTA_LL, AMPERE_LL = (39.0, 39.0, 20.4), (87.7, 22.5, 19.0)
LL_MOST: Since[Most] = (
    ((2, 21, 5), (VOLTA_LL, AMPERE_LL, (141.0, 45.0, 35.0), (282.0, 90.0, 70.0))),
    ((2, 18, 3), (VOLTA_LL, AMPERE_LL, AMPERE_LL, AMPERE_LL)),
)
TO_HOPPER: Most = ((20.0,) * 3, (20.0,) * 3, (36.7,) * 3)
RING_LL128_MOST: Since[Most] = (
    ((2, 29, 7), (*TO_HOPPER, (40.0,) * 3)),
    ((2, 29, 2), (*TO_HOPPER, (34.5, 34.6, 34.5))),
    ((2, 28, 7), (*TO_HOPPER, (73.4, 34.6, 73.4))),
    ((2, 18, 3), (*TO_HOPPER, (73.4,) * 3)),
)
TREE_TO_HOPPER: Most = ((20.0,) * 3, (20.0,) * 3, (36.7, 36.7, 29.0))
TREE_LL128_MOST: Since[Most] = (
    ((2, 28, 3), (*TREE_TO_HOPPER, (55.6, 31.67, 20.0))),
    ((2, 18, 3), (*TREE_TO_HOPPER, (73.4, 73.4, 58.0))),
)
SIMPLE_TO_HOPPER: Most = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0))
TREE_MOST: Since[Most] = (
    ((2, 28, 3), (*SIMPLE_TO_HOPPER, (70.0, 42.8, 24.0))),
    ((2, 18, 3), (*SIMPLE_TO_HOPPER, (77.4, 82.8, 72.0))),
)
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


def most(table: Since[Most], release: Release, generation: int, nodes: int) -> float:
    """A maximum in a release, for a row and a number of nodes."""
    return since(table, release)[generation][min(nodes, 3) - 1]


def base_us(algorithm: Algorithm, row: int, release: Release) -> float:
    """The base latency of a ring or tree with the protocol of a row."""
    if algorithm is TREE and ORDER[row] is Protocol.SIMPLE:
        return since(TREE_SIMPLE_US, release)[""]
    return BASE_US[algorithm][row]


def step_us(wires: str, algorithm: Algorithm, row: int, release: Release) -> float:
    """The latency of a step over NVLINK, PCI or NET."""
    if algorithm is TREE and ORDER[row] is Protocol.SIMPLE:
        return since(TREE_SIMPLE_US, release)[wires]
    return STEP_US[wires][algorithm][row]
