# SPDX-License-Identifier: Apache-2.0
"""NVML or CUDA fails, or does not answer in time, though NVIDIA's driver runs GPUs."""

import re
from collections.abc import Iterator

from railgauge.topo.expect.lost_gpus import DRIVER
from railgauge.topo.findings.cards.gpus import GPU_DRIVER_FAILS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine

JUDGED = re.compile(r"version mismatch|status (?:100|802|803)$", re.IGNORECASE)
"""What other rules say: driver-mismatch, gpu-lost (no device), fabric-not-ready (CUDA_ERROR_SYSTEM_NOT_READY)."""
NOT_ASKED = re.compile(
    r"not queried|a tree of files|not in the output|pynvml|cannot start|cannot be loaded|not found|permission"
    r"|not return",
    re.IGNORECASE,
)
"""railgauge could not ask, or this process may not: that says nothing of the driver."""


def _check(machine: Machine) -> Iterator[Finding]:
    openable = machine.sources.gpu_nodes.openable
    run = sum(1 for gpu in gpus(machine) if gpu.driver == DRIVER)
    for library, error in _errors(machine).items():
        if openable == 0 or NOT_ASKED.search(error):
            why = "this process is given no GPU" if openable == 0 else error
            yield RULE.unknown(library, f"whether {library} works is unknown: {why}")
        else:
            message = f"{error}; the driver runs {run} {'GPU' if run == 1 else 'GPUs'}"
            yield RULE.finding(Level.FAIL, library, message, effect=RULE.card.effect, gpus=run)


def _errors(machine: Machine) -> dict[str, str]:
    """Why a library has no answer, by its name."""
    answers = {library: machine.sources.reader.facts(library.lower()) for library in ("NVML", "CUDA")}
    said = {
        library: f"{library} was not queried" if answer is None else str(answer.get("error", ""))
        for library, answer in answers.items()
    }
    return {library: error for library, error in said.items() if error}


def _concerns(machine: Machine) -> bool:
    if machine.facts is None:
        return True
    run = any(gpu.driver == DRIVER for gpu in gpus(machine))
    return run and not any(JUDGED.search(error) for error in _errors(machine).values())


RULE = Rule(card=GPU_DRIVER_FAILS, needs=(Need.MACHINE, Need.PCI), concerns=_concerns, check=_check)
