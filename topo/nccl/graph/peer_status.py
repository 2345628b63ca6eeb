# SPDX-License-Identifier: Apache-2.0
"""Pairs of GPUs without peer access by NVML (nvmlDeviceGetP2PStatus), which NCCL queries before it uses P2P."""

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.nvml import read_gpus
from railgauge.topo.nccl.graph.model import System

OK = 0  # NVML_P2P_STATUS_OK


def nvml_reports_peers(reader: Reader | None) -> bool:
    """Whether NVML reported the peer access between GPUs; no topology file has it."""
    if reader is None:
        return False
    gpus, _ = read_gpus(reader.facts("nvml"), reader.facts("cuda"))
    return any(gpu.p2p for gpu in gpus)


def denied_pairs(system: System, reader: Reader | None) -> frozenset[tuple[str, str]]:
    """Pairs of GPU ids with a status other than OK for reading or writing; none without NVML.

    A status that could not be read counts as not OK, as in NCCL.
    """
    if reader is None:
        return frozenset()
    gpus, _ = read_gpus(reader.facts("nvml"), reader.facts("cuda"))
    ids = {gpu.dev: gpu.id for gpu in reversed(system.gpus)}
    return frozenset(
        (ids[gpu.index], ids[other])
        for gpu in gpus
        for other, read, write in gpu.p2p
        if (read, write) != (OK, OK) and gpu.index in ids and other in ids
    )
