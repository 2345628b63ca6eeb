# SPDX-License-Identifier: Apache-2.0
"""The limit of locked memory is too low for RDMA."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.process import UNLIMITED
from railgauge.topo.findings.cards.process import MEMLOCK_LOW
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

MB = 1_000_000
TOO_LITTLE = 64 * MB  # the kernel's and systemd's defaults are 64 KiB and 8 MiB; one connection takes 10 MB
ENOUGH = 1000 * MB  # a process with buffers for a hundred connections


def _check(machine: Machine) -> Iterator[Finding]:
    process = machine.sources.process
    if process.memlock_bytes is None:
        yield RULE.unknown(machine.host, "the limit (RLIMIT_MEMLOCK) was not captured")
        return
    soft, hard = process.memlock_bytes
    if soft == UNLIMITED or soft >= ENOUGH or process.locks_freely:
        return
    bad = Level.FAIL if soft < TOO_LITTLE else Level.WARN
    yield RULE.finding(
        bad if has_gpus(machine) else Level.INFO,
        machine.host,
        f"this process may lock {soft / 1000:g} kB; NCCL registers each of its host buffers with the NIC",
        soft_bytes=soft,
        hard_bytes=None if hard == UNLIMITED else hard,
    )


RULE = Rule(card=MEMLOCK_LOW, concerns=lambda machine: machine.facts is None or bool(machine.rdma_ports), check=_check)
