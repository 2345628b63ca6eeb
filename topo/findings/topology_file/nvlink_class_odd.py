# SPDX-License-Identifier: Apache-2.0
"""An NVLink whose target class NCCL misreads.

Of `kvDictPciClass` 0x03... is a GPU, 0x068001 a POWER CPU; anything else is an NVSwitch (`ncclTopoAddNvLinks`).
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NVLINK_CLASS_ODD
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import gpus, to_gpu
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import to_number

BRIDGES = ("0x0680",)  # other bridge: NVSwitches and the NVLink bridge of a POWER CPU


def _check(file: Machine) -> Iterator[Finding]:
    known = gpus(file)
    for link in file.topology.placed("nvlink"):
        kind = link.get("tclass")
        if kind is None or to_gpu(link):
            continue
        target = (link.host, to_number(link.get("target") or ""))
        if target in known:
            message = f"the target {known[target].bus_id} is a GPU, but its class {kind!r} is not"
            effect = "NCCL treats it as an NVSwitch that every GPU with such a link reaches"
            yield RULE.at(link, Level.WARN, message, effect=effect, tclass=kind, wanted="0x030200")
        elif not kind.startswith(BRIDGES):
            message = f"target class {kind!r} is neither a GPU (0x03...) nor an NVSwitch (0x068000)"
            yield RULE.at(link, Level.WARN, message, effect="NCCL treats it as an NVSwitch", tclass=kind)


RULE = TopologyFileRule(card=NVLINK_CLASS_ODD, check=_check)
