# SPDX-License-Identifier: Apache-2.0
"""Runs `gdr check` on a fake GPU and Soft-RoCE, whose memory a peer-memory module is said to register."""

import subprocess
from pathlib import Path

from tests.vm.in_guest.scenarios import command, keep, load

MODULE = Path("/sys/kernel/mm/memory_peers/nv_mem/version")
ANY_DISTANCE = ("--set", "NCCL_NET_GDR_LEVEL=SYS")


def main() -> None:
    load("railgauge.cli.gdr.check", "railgauge.transports.ib.gdr_trial")
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", "/sys/kernel/mm"), check=True)
    MODULE.parent.mkdir(parents=True)
    MODULE.write_text("1")
    faults = {"right": "", "corrupt": "cuMemcpyDtoH_v2=corrupt", "without_memory": "cuMemAlloc_v2=2"}
    for name, fault in faults.items():
        keep(name, command("gdr", "check", *ANY_DISTANCE, "--json"), {"FAKE_CUDA_FAULTS": fault})()


main()
