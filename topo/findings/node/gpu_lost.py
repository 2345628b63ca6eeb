# SPDX-License-Identifier: Apache-2.0
"""A GPU that the machine has lost: on PCI and not in NVML, in NVML and not in CUDA, or missing altogether."""

from collections.abc import Iterator
from functools import partial

from railgauge.topo.expect.lost_gpus import lost_gpus
from railgauge.topo.expect.shipped import find
from railgauge.topo.findings.cards.gpus import GPU_LOST
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import Prices, priced
from railgauge.topo.findings.node.lost_price import UNPRICED, lost_repairs
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    facts, prices = machine.sources.of_all_gpus, Prices(machine)
    for one in lost_gpus(facts):
        if one.sure:
            price = prices.without if facts.gpu(one.subject) else prices.loss
            effect = RULE.card.effect
            found = RULE.finding(Level.FAIL, one.subject, one.why, effect=effect, gpus=len(facts.gpus))
            yield priced(found, partial(price, one.subject), f"{effect}; {UNPRICED}")
        else:
            yield RULE.unknown(one.subject, one.why)
    error = facts.driver.cuda_error
    if error and facts.gpus and "status" in error and "status 100" not in error:
        yield RULE.unknown("CUDA", f"whether CUDA has all GPUs is unknown: {error}")


def _repairs(machine: Machine) -> Iterator[Repair]:
    if missing(Need.PCI, machine) or missing(Need.NVML, machine):
        return
    facts = machine.sources.of_all_gpus
    present = [one for gpu in facts.gpus if (one := facts.function(gpu.bus_id))]
    yield from lost_repairs(machine, lost_gpus(facts), present)


def _concerns(machine: Machine) -> bool:
    facts = machine.facts
    return facts is None or has_gpus(machine) or find(facts) is not None


RULE = Rule(
    card=GPU_LOST, needs=(Need.MACHINE, Need.PCI, Need.NVML), concerns=_concerns, check=_check, repairs=_repairs
)
