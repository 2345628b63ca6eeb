# SPDX-License-Identifier: Apache-2.0
"""`nvidia-smi topo -p2p r` (w, n, a, p): whether each GPU may reach the memory of each other one."""

import re

from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.pasted.smi_matrix import COLOUR

STATUS = {"OK": 0, "CNS": 1, "GNS": 2, "TNS": 3, "DR": 4, "NS": 5, "U": 6}
"""nvmlGpuP2PStatus_t by nvidia-smi's letters: chipset, GPU or topology not supported, disabled by regkey, unknown."""
READ, WRITE = 0, 1
COMMAND = re.compile(r"topo\s+(?:-p2p|--p2p_status)\s+(\w+)")
ROW = re.compile(r"GPU(\d{1,3})\s+((?:(?:OK|CNS|GNS|TNS|DR|NS|U|X)\b\s*)+)")
HEADER = re.compile(r"GPU0(?:\s+GPU\d+)*")


def read(text: str, host: PastedHost) -> str:
    """Add the statuses; "" if the text has none."""
    found = False
    which: tuple[int, ...] = (READ, WRITE)
    for line in COLOUR.sub("", text).splitlines():
        if command := COMMAND.search(line):
            which = tuple({"r": READ, "w": WRITE}[one] for one in command[1] if one in "rw")
        row = ROW.fullmatch(line.strip())
        if row and not set(row[2].split()) <= {"X"}:
            found = True
            _row(int(row[1]), row[2].split(), which, host)
    return "nvidia-smi topo -p2p" if found else ""


def _row(index: int, words: list[str], which: tuple[int, ...], host: PastedHost) -> None:
    host.gpu(index)
    for other, word in enumerate(words):
        if word in STATUS and other != index:
            pair = host.p2p.setdefault((index, other), [None, None])
            for side in which:
                pair[side] = STATUS[word]
