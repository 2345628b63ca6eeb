# SPDX-License-Identifier: Apache-2.0
"""The settings in a log: judged as `env` judges them, as far as that needs no machine."""

from collections.abc import Iterator

from railgauge.topo.facts.known_settings import BINDING, KNOWN
from railgauge.topo.facts.sources.nccl_settings import ENVIRONMENT, Setting
from railgauge.topo.findings.cards.comparison import NODES_DIFFER
from railgauge.topo.findings.cards.rdma_ports import GID_INDEX_INVALID
from railgauge.topo.findings.cards.settings import (
    CONF_FILE_FORGOTTEN,
    NCCL_SETTING_HARMFUL,
    NCCL_SETTING_IGNORED,
    NCCL_SETTING_INVALID,
)
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.words import named
from railgauge.topo.nccl.settings.validity import fault_of, is_default

FORGOTTEN = {
    "NCCL_IB_DISABLE": "RDMA is turned off",
    "NCCL_P2P_DISABLE": "P2P between GPUs is turned off",
    "NCCL_SHM_DISABLE": "shared memory is turned off",
}
OF_NETWORK = ("NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX")
FILES = {"NCCL_TOPO_FILE": "the machine's topology", "NCCL_GRAPH_FILE": "rings and trees"}


def settings(log: Log) -> Iterator[Finding]:
    """Settings that turn something off, force a choice, are misread, or differ between nodes."""
    for name, values in sorted(log.settings.items()):
        for value, hosts in sorted(values.items()):
            yield from _one(log, name, value, hosts)
        if name == "NCCL_IB_GID_INDEX":
            message = f"{name} is set to {', '.join(sorted(values))}: NCCL takes it unchecked"
            yield GID_INDEX_INVALID.finding(Level.INFO, name, message)
        if len(values) > 1:
            parts = "; ".join(f"{value} on {named(hosts)}" for value, hosts in sorted(values.items())[:4])
            yield NODES_DIFFER.finding(Level.INFO, name, f"{name} differs between nodes: {parts}")
    for path in log.topology_files:
        if "NCCL_TOPO_FILE" not in log.settings:
            message = f"NCCL takes {FILES['NCCL_TOPO_FILE']} from {path}, not from /sys: it must be of this machine"
            yield NCCL_SETTING_HARMFUL.finding(Level.INFO, "NCCL_TOPO_FILE", message)


def _one(log: Log, name: str, value: str, hosts: set[str]) -> Iterator[Finding]:
    said = f"{name}={value} on {named(hosts)}"
    if name in KNOWN and (fault := fault_of(Setting(name=name, value=value, origin=ENVIRONMENT))):
        card = NCCL_SETTING_IGNORED if fault.ignored else NCCL_SETTING_INVALID
        yield card.finding(Level.WARN, name, f"{said} {fault.message}")
    elif name in FORGOTTEN and value not in ("0", ""):
        level = Level.INFO if name in OF_NETWORK and log.on_one_node else Level.WARN
        yield CONF_FILE_FORGOTTEN.finding(level, name, f"{said}: {FORGOTTEN[name]}")
    elif name == "NCCL_NET" and value.lower() == "socket" and not log.on_one_node:
        yield NCCL_SETTING_HARMFUL.finding(Level.WARN, name, f"{said}: sockets are used, whatever RDMA there is")
    elif name in FILES:
        message = f"{said}: NCCL takes {FILES[name]} from this file, which must be of this machine"
        yield NCCL_SETTING_HARMFUL.finding(Level.INFO, name, message)
    elif name in BINDING and name in KNOWN and not is_default(KNOWN[name], value):
        yield NCCL_SETTING_HARMFUL.finding(Level.INFO, name, f"{said}: it forces one choice for every size and job")
