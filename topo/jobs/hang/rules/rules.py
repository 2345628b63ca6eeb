# SPDX-License-Identifier: Apache-2.0
"""All rules of `log hang`."""

from railgauge.topo.findings.detectors import found_in
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.jobs.hang.standstill import Standstill

RULES: tuple[FileRule[Standstill], ...] = found_in("railgauge.topo.jobs.hang.rules", FileRule)
