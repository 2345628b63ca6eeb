# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA as it was tried between a GPU and a NIC, as findings: PASS only where every byte was right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.gdr.findings import name
from railgauge.topo.findings.gdr.pairs import GdrPair


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What came of it. registration: the ways in which the GPU's memory was to be registered with the NIC, and what
    went wrong (nothing with the last one where it works). failed: the step, and what was wrong with it; empty where
    all went well. why_not: why nothing was tried.
    """

    registration: Sequence[tuple[str, str]] = ()
    failed: str = ""
    why_not: str = ""

    @property
    def how(self) -> str:
        """The way in which the memory is registered; empty where it is not."""
        return next((way for way, error in self.registration if not error), "")


def findings(tried: Mapping[GdrPair, Transfer], host: str = "") -> Iterator[Finding]:
    """One for each pair."""
    for pair, transfer in tried.items():
        yield _finding(pair, transfer, host)


def _finding(pair: GdrPair, transfer: Transfer, host: str) -> Finding:
    level, message, remedy = _verdict(pair, transfer)
    evidence = {
        "gpu": pair.gpu.bus_id,
        "nic": pair.net.name,
        "tried": not transfer.why_not,
        "how": transfer.how or None,
        "registration": [{"how": way, "error": error or None} for way, error in transfer.registration],
        "failed": transfer.failed or None,
    }
    return Finding(id=ID, level=level, subject=name(pair), message=message, evidence=evidence, remedy=remedy, host=host)


def _verdict(pair: GdrPair, transfer: Transfer) -> tuple[Level, str, str]:
    if transfer.why_not:
        return Level.UNKNOWN, f"no transfer was tried: {transfer.why_not}", ""
    if not transfer.failed:
        return (
            Level.PASS,
            f"the NIC wrote into the GPU's memory and sent from it, every byte right ({transfer.how})",
            "",
        )
    why = "; ".join(f"{way}: {error}" for way, error in transfer.registration if error)
    message = f"the transfer failed: {transfer.failed}{f' ({why})' if why and not transfer.how else ''}"
    if any(way.on for way in pair.ways):
        return Level.FAIL, message, MOVES_WRONG if transfer.how else NOT_REGISTERED
    return Level.INFO, f"{message}; NCCL would not use it either", ""


ID = "gdr-transfer"
NOT_REGISTERED = (
    "modprobe nvidia_peermem, or NVIDIA's open kernel modules with Linux 5.12 and rdma-core 34 (DMA-BUF): "
    "railgauge explain peermem-missing; until then NCCL_NET_GDR_LEVEL=LOC keeps jobs from it"
)
MOVES_WRONG = (
    "ACS off between them and the IOMMU to passthrough: railgauge explain acs-enabled, iommu-translating; until then "
    "NCCL_NET_GDR_LEVEL=LOC keeps jobs from it"
)
RULE: FileRule[Mapping[GdrPair, Transfer]] = FileRule(
    id=ID,
    title="Bytes moved between a GPU and a NIC by GPUDirect RDMA, and looked at",
    levels=(Level.INFO, Level.FAIL, Level.UNKNOWN),
    remedy="by what failed: railgauge gdr check names it",
    check=findings,
)
