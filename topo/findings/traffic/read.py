# SPDX-License-Identifier: Apache-2.0
"""Reads the counters of all links of a host once. A live reader keeps NVML's answers: each reading takes a new one."""

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.link_counters import LinkCounters
from railgauge.topo.facts.sources.net_counters import read_net_counters
from railgauge.topo.facts.sources.nvlink_counters import read_nvlink_counters
from railgauge.topo.facts.sources.pcie_counters import read_pcie_counters
from railgauge.topo.facts.sources.port_counters import read_port_counters


def read_counters(reader: Reader) -> tuple[LinkCounters, ...]:
    """Interfaces, RDMA ports, and the NVLinks and PCIe links of GPUs."""
    gpus = reader.facts("gpu_counters")
    return (
        *read_net_counters(reader),
        *read_port_counters(reader),
        *read_nvlink_counters(gpus),
        *read_pcie_counters(gpus),
    )
