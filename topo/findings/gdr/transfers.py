# SPDX-License-Identifier: Apache-2.0
"""Transfers with GPUDirect RDMA between a GPU and a NIC, as findings: PASS only if every byte was right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.findings.cards.gdr import GDR_TRANSFER
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.gdr.findings import name
from railgauge.topo.findings.gdr.pairs import GdrPair


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The result. registration: the mechanisms tried to register the GPU's memory with the NIC, and the error of each
    (none for one that works). failed: the failed step and its error; empty on success.
    why_not: why nothing was tried.
    """

    registration: Sequence[tuple[str, str]] = ()
    failed: str = ""
    why_not: str = ""

    @property
    def how(self) -> str:
        """The mechanism that registered the memory; empty if none did."""
        return next((way for way, error in self.registration if not error), "")


def findings(tried: Mapping[GdrPair, Transfer], host: str = "") -> Iterator[Finding]:
    """One for each pair."""
    for pair, transfer in tried.items():
        yield _finding(pair, transfer, host)


def _finding(pair: GdrPair, transfer: Transfer, host: str) -> Finding:
    level, message = _verdict(pair, transfer)
    evidence = {
        "gpu": pair.gpu.bus_id,
        "nic": pair.net.name,
        "tried": not transfer.why_not,
        "how": transfer.how or None,
        "registration": [{"how": way, "error": error or None} for way, error in transfer.registration],
        "failed": transfer.failed or None,
    }
    fix = level is Level.FAIL
    return GDR_TRANSFER.finding(level, name(pair), message, fix=fix, host=host, evidence=evidence)


def _verdict(pair: GdrPair, transfer: Transfer) -> tuple[Level, str]:
    if transfer.why_not:
        return Level.UNKNOWN, f"no transfer was tried: {transfer.why_not}"
    if not transfer.failed:
        return Level.PASS, f"the NIC wrote to GPU memory and read from it, every byte right ({transfer.how})"
    why = "; ".join(f"{way}: {error}" for way, error in transfer.registration if error)
    message = f"the transfer failed: {transfer.failed}{f' ({why})' if why and not transfer.how else ''}"
    if any(way.on for way in pair.ways):
        return Level.FAIL, message
    return Level.INFO, f"{message}; NCCL would not use it anyway"
