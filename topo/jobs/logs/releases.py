# SPDX-License-Identifier: Apache-2.0
"""The releases that a log names: of NCCL, of the CUDA that it was built for, and of the CUDA that the driver knows."""

import re
from collections import defaultdict
from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import DRIVER_MISMATCH
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.words import named

VERSION = re.compile(r"\b([NR]CCL) version *:? *(\d+\.\d+\.\d+)")
LIBRARY = re.compile(r"nccl-library=(\d{5})\b")  # of nccl-tests: 22907 is 2.29.7
BUILT = re.compile(r"NCCL version \d[\d.]*(?:\+cuda| compiled with CUDA )(\d{1,2})\.(\d{1,2})\b")
DRIVER = re.compile(r"cudaDriverVersion (\d{4,6})\b")  # 12040 is 12.4
Cuda = tuple[int, int]


def of_library(text: str) -> str:
    """`NCCL 2.29.7` of nccl-tests' head; "" where it names none."""
    found = LIBRARY.search(text)
    code = int(found[1]) if found else 0
    return f"NCCL {code // 10000}.{code // 100 % 100}.{code % 100}" if code else ""


class CudaReleases:
    """Hosts by the CUDA of their driver, and by that which NCCL was built for."""

    def __init__(self) -> None:
        self._drivers: defaultdict[Cuda, set[str]] = defaultdict(set)
        self._built: defaultdict[Cuda, set[str]] = defaultdict(set)

    def driver(self, text: str, host: str) -> bool:
        """Take in the line in which NCCL asks the driver; whether it is one."""
        if found := DRIVER.search(text):
            self._drivers[int(found[1]) // 1000, int(found[1]) % 1000 // 10].add(host)
        return found is not None

    def built(self, text: str, host: str) -> None:
        """Take in what NCCL was built for."""
        if found := BUILT.search(text):
            self._built[int(found[1]), int(found[2])].add(host)

    def findings(self) -> Iterator[Finding]:
        """Drivers that are older than NCCL's CUDA: within a major release only what is new since then fails."""
        built = max(self._built, default=(0, 0))
        for driver, hosts in sorted(self._drivers.items()):
            if driver < built:
                fails = "calls that it does not know fail" if driver[0] == built[0] else "it does not run there"
                level = Level.INFO if driver[0] == built[0] else Level.WARN
                message = f"NCCL is built for CUDA {_said(built)}, and the driver knows {_said(driver)}: {fails}"
                yield DRIVER_MISMATCH.finding(level, named(hosts), message)


def _said(cuda: Cuda) -> str:
    return f"{cuda[0]}.{cuda[1]}"
