# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's kernel module and its libraries have different releases; or the driver differs from most nodes."""

import re
from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import DRIVER_MISMATCH
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

MISMATCH = re.compile(r"version mismatch|CUDA: .* status 803", re.IGNORECASE)  # CUDA_ERROR_SYSTEM_DRIVER_MISMATCH


def _check(machine: Machine) -> Iterator[Finding]:
    driver = machine.sources.driver
    said = [error for error in (driver.nvml_error, driver.cuda_error) if error and MISMATCH.search(error)]
    for error in said[:1]:
        yield RULE.finding(Level.FAIL, "nvidia", error, effect=RULE.card.effect, module=driver.module, answer=error)
    if driver.module is None:
        yield RULE.unknown("nvidia", "the release of the kernel module cannot be read (/proc/driver/nvidia/version)")
        return
    if driver.nvml and driver.nvml != driver.module:
        message = f"the kernel module is {driver.module}, NVML reports {driver.nvml}"
        yield RULE.finding(
            Level.FAIL, "nvidia", message, effect=RULE.card.effect, module=driver.module, nvml=driver.nvml
        )
    works = driver.nvml == driver.module and not driver.cuda_error  # then that library is not in use
    others = {path: release for path, release in driver.libraries.items() if release != driver.module}
    for path, release in {} if said else others.items():
        message = f"the kernel module is {driver.module}, {path} is {release}"
        level, effect = (Level.INFO, "") if works else (Level.FAIL, RULE.card.effect)
        yield RULE.finding(level, path, message, effect=effect, module=driver.module, library=release)
    if not driver.nvml and not driver.libraries and not said:
        yield RULE.unknown(
            "nvidia",
            "the release of the driver's libraries is unknown (no NVML, no release in their file names)",
            module=driver.module,
        )


RULE = Rule(
    card=DRIVER_MISMATCH,
    concerns=lambda machine: machine.facts is None or bool(gpus(machine)) or machine.sources.driver.module is not None,
    check=_check,
)
