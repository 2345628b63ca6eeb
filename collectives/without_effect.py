# SPDX-License-Identifier: Apache-2.0
"""Settings of NCCL that change nothing between ranks on host memory, and why: for who set them and waits for more."""

from collections.abc import Mapping

from railgauge.collectives.cost.host_cost import IN_TREES
from railgauge.topo.nccl.settings.algorithm import Protocol
from railgauge.topo.nccl.settings.algorithms import read_allowed

ALWAYS = {
    "NCCL_PROTOS": "NCCL has no such setting, and passes over it: NCCL_PROTO is meant",
    "NCCL_NTHREADS": "threads of a GPU's block; a rank on host memory is one thread",
    "NCCL_LL_BUFFSIZE": "on host memory LL needs no buffer of its own",
    "NCCL_LL128_BUFFSIZE": "LL128 is a protocol of GPUs",
}


def without_effect(settings: Mapping[str, str]) -> list[str]:
    """One line for each setting that is given and changes nothing.

    Raises:
        UsageError: NCCL_ALGO or NCCL_PROTO is what NCCL would refuse.
    """
    found = [f"{name}={settings[name]} has no effect: {why}" for name, why in ALWAYS.items() if settings.get(name)]
    allowed = read_allowed(settings)
    protocols = [names for names in allowed.protocols.values() if names is not None and Protocol.SIMPLE not in names]
    if any(Protocol.LL not in names for names in protocols):
        found.append(
            f"NCCL_PROTO={settings['NCCL_PROTO']} leaves out LL and simple, all that host memory has: simple runs it"
        )
    elif protocols:
        found.append(
            f"NCCL_PROTO={settings['NCCL_PROTO']} leaves out simple, which runs what LL cannot: all but a few bytes "
            "within a host"
        )
    without = [
        str(collective)
        for collective, names in allowed.algorithms.items()
        if names is not None and not names & ({"ring", "tree"} if collective in IN_TREES else {"ring"})
    ]
    if without:
        found.append(
            f"NCCL_ALGO={settings['NCCL_ALGO']} leaves {', '.join(without)} nothing that ranks on host memory have: "
            "a ring runs it"
        )
    return found
