# SPDX-License-Identifier: Apache-2.0
"""Settings of NCCL that have no effect between ranks on host memory, and why."""

from collections.abc import Mapping

from railgauge.collectives.cost.host_cost import IN_TREES
from railgauge.topo.nccl.settings.algorithm import Protocol
from railgauge.topo.nccl.settings.algorithms import read_allowed

ALWAYS = {
    "NCCL_PROTOS": "NCCL has no such setting and ignores it: use NCCL_PROTO",
    "NCCL_NTHREADS": "it sets threads of a GPU's block; a rank on host memory is one thread",
    "NCCL_LL_BUFFSIZE": "on host memory LL needs no separate buffer",
    "NCCL_LL128_BUFFSIZE": "LL128 is a protocol for GPUs",
}


def without_effect(settings: Mapping[str, str]) -> list[str]:
    """One line for each setting that is given and has no effect.

    Raises:
        UsageError: NCCL_ALGO or NCCL_PROTO is a value that NCCL would reject.
    """
    found = [f"{name}={settings[name]} has no effect: {why}" for name, why in ALWAYS.items() if settings.get(name)]
    allowed = read_allowed(settings)
    protocols = [names for names in allowed.protocols.values() if names is not None and Protocol.SIMPLE not in names]
    if any(Protocol.LL not in names for names in protocols):
        found.append(
            f"NCCL_PROTO={settings['NCCL_PROTO']} excludes LL and simple, the protocols of host memory: using simple"
        )
    elif protocols:
        found.append(
            f"NCCL_PROTO={settings['NCCL_PROTO']} excludes simple, which runs what LL cannot: all but a few bytes "
            "within a host"
        )
    without = [
        str(collective)
        for collective, names in allowed.algorithms.items()
        if names is not None and not names & ({"ring", "tree"} if collective in IN_TREES else {"ring"})
    ]
    if without:
        found.append(
            f"NCCL_ALGO={settings['NCCL_ALGO']} allows no algorithm for {', '.join(without)} on host memory: using ring"
        )
    return found
