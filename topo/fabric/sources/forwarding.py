# SPDX-License-Identifier: Apache-2.0
"""Output of `dump_fts` (and of ibroute): the forwarding table of each switch, which gives the output port of each LID.

    Unicast lids [0x0-0x8c] of switch DR path slid 0; dlid 0; 0,40,15 guid 0x0000000000200007 (leaf-r3-1):
      Lid  Out   Destination
           Port     Info
    0x0001 040 : (Switch portguid 0x0000000000200000: 'leaf-r0-0')

A table is one array. The lines of large tables have one form, and are read by NumPy: a file of 1 GB takes seconds.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from railgauge.topo.fabric.model import UNROUTED
from railgauge.topo.fabric.parts import FabricParts

if TYPE_CHECKING:
    import numpy as np

MARK = re.compile(rb"^Unicast lids \[", re.MULTILINE)
HEAD = re.compile(rb"^Unicast lids \[[^]\n]*\] of switch .*?guid 0x([0-9a-fA-F]{1,16}) \((.*)\):", re.MULTILINE)
LENGTH = len("0x0001 040")
HEX = [int(chr(code), 16) if chr(code) in "0123456789abcdefABCDEF" else 1 << 20 for code in range(256)]
"""Of a digit's code; beyond all LIDs and ports for what is none."""
MOST_LIDS = 0xC000
"""Unicast LIDs end at 0xBFFF (InfiniBand architecture, volume 1, 4.1.3)."""


def read(blocks: Iterable[bytes], parts: FabricParts) -> None:
    """Add the tables; blocks end where lines end."""
    import numpy as np

    table = np.full(0, UNROUTED, np.uint8)
    for block in blocks:
        start = 0
        for head in HEAD.finditer(block):
            _entries(block[start : head.start()], table)
            key = parts.key(head[1].decode())
            parts.device(key, head[2].decode("utf-8", "replace"), switch=True)
            table = parts.tables.setdefault(key, np.full(MOST_LIDS, UNROUTED, np.uint8))
            start = head.end()
        _entries(block[start:], table)


def _entries(block: bytes, table: "np.ndarray") -> None:
    """Fill in a table from lines `0xLLLL PPP : ...`; the LID has four hexadecimal digits, the port three decimal."""
    import numpy as np

    value = np.array(HEX)
    data = np.frombuffer(block, np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(data == ord("\n")) + 1))
    starts = starts[starts + LENGTH <= data.size]
    starts = starts[(data[starts] == ord("0")) & (data[starts + 1] == ord("x")) & (data[starts + 6] == ord(" "))]
    if not table.size or not starts.size:
        return
    lids = np.zeros(starts.size, np.int64)
    for place in range(2, 6):
        lids = lids * 16 + value[data[starts + place]]
    ports = np.zeros(starts.size, np.int64)
    for place in range(7, 10):
        ports = ports * 10 + value[data[starts + place]]
    good = (lids > 0) & (lids < MOST_LIDS) & (ports < UNROUTED)
    table[lids[good]] = ports[good]
