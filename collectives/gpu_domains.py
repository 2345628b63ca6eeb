# SPDX-License-Identifier: Apache-2.0
"""Which NVLink domain of several hosts each GPU of a node is in (MNNVL)."""

from collections.abc import Mapping, Sequence

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.nvml import NvlinkFabric, live_nvml
from railgauge.topo.nccl.detect.mnnvl import domain_of
from railgauge.topo.nccl.settings.mnnvl import BY_RACK, OFF, read_mnnvl
from railgauge.topo.values.busid import to_number
from railgauge.transports.nccl_log import NcclLog

HALF = 8
"""Bytes of a half of a cluster's UUID, of which NCCL logs the number, the lowest byte first."""


def gpu_domains(
    facts: MachineFacts | None, bus_ids: Sequence[str], environ: Mapping[str, str], log: NcclLog
) -> list[str]:
    """By rank of the node the domain (`domain_of`) of its GPU; "": none, or NCCL_MNNVL_ENABLE=0.

    `facts`: the machine's; None for a topology file, which names no domain: NVML is asked.
    """
    mnnvl = read_mnnvl(environ)
    if mnnvl.mode == OFF:
        return [""] * len(bus_ids)
    if mnnvl.clique == BY_RACK:
        log.info("INIT", "NCCL_MNNVL_CLIQUE_ID=-2 (cliques by rack) is not supported: no NVLink between hosts")
    facts = facts or MachineFacts(LiveReader("/", {"nvml": live_nvml}))
    if facts.no_nvml:
        log.info("INIT", f"NVLink between hosts is not used, as NVML reports no domain: {facts.no_nvml}")
    fabrics = {to_number(gpu.bus_id): gpu.fabric for gpu in facts.gpus}
    found = [fabrics.get(to_number(bus_id)) for bus_id in bus_ids]
    for bus_id, fabric in zip(bus_ids, found, strict=True):
        if fabric and fabric.state:
            _log(log, to_number(bus_id), fabric)
    return [domain_of(fabric, mnnvl) for fabric in found]


def _log(log: NcclLog, bus_id: int, fabric: NvlinkFabric) -> None:
    """NCCL's line (`fillInfo` of src/init.cc)."""
    cluster = bytes.fromhex(fabric.cluster or "")
    uuid = ".".join(f"{int.from_bytes(half, 'little'):x}" for half in (cluster[:HALF], cluster[HALF:]))
    log.info(
        "INIT",
        f"MNNVL busId {bus_id:#x} fabric UUID {uuid} cliqueId {fabric.clique or 0:#x} state {fabric.state} "
        f"healthMask {fabric.health or 0:#x}",
    )
