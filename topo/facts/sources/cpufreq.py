# SPDX-License-Identifier: Apache-2.0
"""How the kernel sets the clock of the cores (Documentation/admin-guide/pm/cpufreq.rst)."""

from collections import Counter
from collections.abc import Mapping

from railgauge.topo.facts.reader import Reader

POLICIES = "/sys/devices/system/cpu/cpufreq"


def read_governors(reader: Reader) -> Mapping[tuple[str | None, str | None], int]:
    """How many policies (cores that share a clock) have each pair of driver and governor; None when unreadable."""
    names = [name for name in reader.entries(POLICIES) if name.startswith("policy")]
    return Counter(
        (reader.text(f"{POLICIES}/{name}/scaling_driver"), reader.text(f"{POLICIES}/{name}/scaling_governor"))
        for name in names
    )
