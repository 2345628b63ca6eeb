# SPDX-License-Identifier: Apache-2.0
"""A bus id in a spelling that NCCL does not find.

NCCL looks a device up by the text that `int64ToBusId` makes (lower case, a domain of at least four digits) and compares
texts (`ncclTopoGetPciNode`); for another spelling it makes a second <pci> and trims the file's.
"""

import re
from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import BUSID_SPELLING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine

FOUND = re.compile(r"([0-9a-f]{4}|[1-9a-f][0-9a-f]{4,7}):[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
PARTS = re.compile(r"(?:([0-9a-f]+):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-9a-f])", re.IGNORECASE)


def _check(file: Machine) -> Iterator[Finding]:
    for pci in file.topology.placed("pci"):
        text = pci.get("busid")
        if text is None or FOUND.fullmatch(text):
            continue
        used = pci.is_gpu or pci.is_nic
        better = canonical(text)
        yield RULE.at(
            pci,
            Level.FAIL if used else Level.WARN,
            f"NCCL does not find bus id {text!r} in this spelling" + (f": {better}" if better else ""),
            effect="NCCL ignores the file's entry and places this device as sysfs shows it" if used else "",
            busid=text,
            wanted=better,
        )


def canonical(text: str) -> str | None:
    """The bus id in NCCL's spelling; None when it is none."""
    found = PARTS.fullmatch(text.strip())
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function.lower()}"


RULE = TopologyFileRule(card=BUSID_SPELLING, check=_check)
