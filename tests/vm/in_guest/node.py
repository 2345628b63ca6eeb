# SPDX-License-Identifier: Apache-2.0
"""What the guest of one node runs (scenarios.py)."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.vm.in_guest import coming_and_going
from tests.vm.in_guest.scenarios import IO, command, keep

PCI = Path("/sys/bus/pci/devices")
LIBRARIES = {
    "pyverbs": ("/usr/bin/python3", "-I", "topo/facts/sources/verbs_child.py"),
    "libibverbs": ("/usr/bin/python3", "-I", "topo/facts/sources/libibverbs_child.py"),
    "ibstat": ("ibstat",),
    "ibv_devinfo": ("ibv_devinfo", "-v"),
    "rdma_link": ("rdma", "-j", "link"),
    "lstopo": ("lstopo-no-graphics", "--of", "xml", "--whole-io", "-"),
}
"""Other tools' answers of the same machine."""
OF_HWLOC = {"HWLOC_COMPONENTS": "linux,stop"}


def tool(*words: str) -> Callable[[], int]:
    """Another program."""
    return lambda: subprocess.run(words, check=False).returncode


def together(*scenarios: tuple[str, Callable[[], int], Mapping[str, str]]) -> None:
    """Scenarios that run at the same time: two, for there are two cores."""
    for wait in [keep(*scenario) for scenario in scenarios]:
        wait()


def main() -> None:
    dump = command("topo", "dump")
    together(("dump", dump, {}))
    capture = command("topo", "capture", "-o", f"{IO}/node.tar.zst")
    together(("sockets", dump, {"NCCL_IB_DISABLE": "1"}), ("capture", capture, {}))
    together(("rdma", command("topo", "show", "--view", "rdma", "--json"), {}))
    for name, words in LIBRARIES.items():
        keep(name, tool(*words), OF_HWLOC)()
    keep("coming_and_going", coming_and_going.main, {})()

    # Gone for good. Soft-RoCE is taken off first: Linux 6.1 waits for ever for a netdev that still carries it.
    subprocess.run(("rdma", "link", "delete", os.environ["NIC_RDMA"]), check=True)
    for bus_id in (os.environ["SWITCH"], os.environ["NIC"]):
        (PCI / bus_id / "remove").write_text("1")
    keep("without", dump, {})()


main()
