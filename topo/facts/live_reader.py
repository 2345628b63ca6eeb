# SPDX-License-Identifier: Apache-2.0
"""The reader of the live machine: its files, and what libraries and system calls report."""

import os
from functools import partial

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.gdr import DRIVER
from railgauge.topo.facts.sources.port_errors import LATER
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS as INFINIBAND
from railgauge.topo.facts.sources.sysfs_pci import gpu_bus_ids

DRIVER_SIGNS = (DRIVER, "/dev/nvidiactl", "/dev/dxg")  # in containers and WSL sysfs may lack the GPUs


def live_reader(root: str = "/") -> LiveReader:
    """A reader of the file system below `root`; NVML, CUDA and addresses are read for the real root only."""
    from railgauge.topo.facts.sources.affinity import live_affinity
    from railgauge.topo.facts.sources.cuda import live_cuda
    from railgauge.topo.facts.sources.fabric_manager import live_fabric_manager
    from railgauge.topo.facts.sources.gpu_counters import live_gpu_counters
    from railgauge.topo.facts.sources.interfaces import live_interfaces
    from railgauge.topo.facts.sources.nccl_settings import live_settings
    from railgauge.topo.facts.sources.nvml import live_nvml
    from railgauge.topo.facts.sources.pci_config import live_pci_config
    from railgauge.topo.facts.sources.port_errors import live_later
    from railgauge.topo.facts.sources.process import live_process
    from railgauge.topo.facts.sources.shared_memory import live_shared_memory
    from railgauge.topo.facts.sources.verbs import live_verbs

    reader = LiveReader(root)
    if reader.root:
        return reader
    reader.ask.update(
        interfaces=live_interfaces,
        affinity=live_affinity,
        settings=live_settings,
        pci_config=partial(live_pci_config, reader),
        process=live_process,
        shared_memory=live_shared_memory,
    )
    if gpu_bus_ids(reader) or any(os.path.exists(path) for path in DRIVER_SIGNS):
        reader.ask.update(
            nvml=live_nvml, cuda=live_cuda, fabric_manager=live_fabric_manager, gpu_counters=live_gpu_counters
        )
    if reader.entries(INFINIBAND):
        reader.ask.update({"verbs": live_verbs, LATER: live_later})
    return reader
