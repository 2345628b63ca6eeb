# SPDX-License-Identifier: Apache-2.0
"""The PCIe link of each GPU: bytes with the headers of their packets, of the driver's own traffic too (2 MB/s on an
idle H200), in counters that begin at 0 again every 4 GiB, which takes a link of Gen5 less than 0.1 s.
"""

from railgauge.topo.facts.reader import Facts
from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind, LinkCounters

WRAPS_AT = 1 << 32


def read_pcie_counters(answers: Facts | None) -> tuple[LinkCounters, ...]:
    """Out of NVML's answers (gpu_counters.py), by GPU."""
    return tuple(_gpu(gpu) for gpu in (answers or {}).get("gpus", ()))


def _gpu(gpu: Facts) -> LinkCounters:
    pairs = zip(ByteDirection, gpu["pcie"], strict=True)
    return LinkCounters(
        kind=CounterKind.PCIE,
        name=f"GPU{gpu['index']} PCIe",
        counts={way: {} if value is None else {"data": value} for way, value in pairs},
        wraps_at=WRAPS_AT,
        unread="not reported by NVML: needs a driver that counts PCIe traffic" if None in gpu["pcie"] else "",
    )
