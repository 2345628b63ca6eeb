# SPDX-License-Identifier: Apache-2.0
"""The NCCL_* settings that ranks have to agree on, and what NCCL does when they do not.

Every rank reads its own environment, and NCCL compares nothing: ranks with different algorithms, numbers of channels
or buffer sizes wait for each other forever (`ncclTopoTuneModel`, `ncclTopoPostset`, `computeBuffSizes`,
`selectTransport`, `ncclNetInit`; NCCL 2.30).
"""

from collections.abc import Mapping

WHICH_ALGORITHM = "ranks use different algorithms for one operation, and wait for each other"
HOW_MANY_CHANNELS = "ranks have different numbers of channels, and wait for each other"
HOW_LARGE_BUFFERS = "the two ends of a connection use different buffer sizes"
WHICH_TRANSPORT = "the two ends of a connection use different transports"

WHAT_THEY_DO = "ranks do different things, and wait for each other or get different results"

ON_ALL_RANKS = {
    "NCCL_ALGO": WHICH_ALGORITHM,
    "NCCL_PROTO": WHICH_ALGORITHM,
    "NCCL_BUFFSIZE": HOW_LARGE_BUFFERS,
    "NCCL_LL_BUFFSIZE": HOW_LARGE_BUFFERS,
    "NCCL_LL128_BUFFSIZE": HOW_LARGE_BUFFERS,
    "NCCL_MIN_NCHANNELS": HOW_MANY_CHANNELS,
    "NCCL_MAX_NCHANNELS": HOW_MANY_CHANNELS,
    "NCCL_MIN_NRINGS": HOW_MANY_CHANNELS,
    "NCCL_MAX_NRINGS": HOW_MANY_CHANNELS,
    "NCCL_NET": WHICH_TRANSPORT,
    "NCCL_IB_DISABLE": WHICH_TRANSPORT,
    "NCCL_MNNVL_ENABLE": WHICH_TRANSPORT,
}
"""NCCL hangs or fails where these differ between any two ranks."""
ON_ONE_HOST = {
    "NCCL_P2P_LEVEL": WHICH_TRANSPORT,
    "NCCL_P2P_DISABLE": WHICH_TRANSPORT,
    "NCCL_SHM_DISABLE": WHICH_TRANSPORT,
}
"""The same, between ranks of one host."""
BETTER_ALIKE = (
    "NCCL_CROSS_NIC", "NCCL_NTHREADS", "NCCL_NVLS_ENABLE", "NCCL_COLLNET_ENABLE", "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_GDR_READ", "NCCL_NET_SHARED_BUFFERS", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD",
    "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_PCI_RELAXED_ORDERING", "NCCL_IB_USE_INLINE",
)  # fmt: skip
"""NCCL runs if these differ, but then ranks behave differently, which is rarely intended."""


def compared(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of an environment that ranks have to agree on."""
    names = (*ON_ALL_RANKS, *ON_ONE_HOST, *BETTER_ALIKE)
    return {name: settings[name] for name in names if settings.get(name)}
