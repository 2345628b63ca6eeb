# SPDX-License-Identifier: Apache-2.0
"""Hosts and guests of one kind: a described guest with the parts of a described host."""

from pathlib import Path

from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.machine import load_machine

H200, H100 = ('"10de:2335"', "10de:18be"), ('"10de:2330"', "10de:16c1")
CX7, CX7_VF = '"15b3:1021"', '"15b3:101e"'
DGX_RAILS = ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")
VIRTUAL = """
[nic.virtual]
id = "15b3:101e"
subsystem = "15b3:0041"
driver = "vfio-pci"
rate = "400 Gb/sec (4X NDR)"
"""


def text(name: str) -> str:
    """A fixture's description."""
    return Path(fixture_path(name)).read_text()


def described(folder: Path, name: str, description: str):
    """The machine of a description."""
    path = folder / f"{name}.toml"
    path.write_text(description)
    return load_machine(str(path))


def h100_guest(changes: str = "", *, numa: str = '0 = "0-191"', nic: str = CX7) -> str:
    """`vm-flat` with H100."""
    made = text("vm-flat").replace(H200[0], H100[0]).replace(H200[1], H100[1]).replace('0 = "0-191"', numa)
    return made.replace(f'id = {CX7}\nsubsystem = "15b3:0041"', f'id = {nic}\nsubsystem = "15b3:0041"') + changes


def strangers() -> str:
    """Other UUIDs than the host's, as where its driver was not there to tell them."""
    return "[facts.nvml]\n" + "".join(f'gpus.{number}.uuid = "GPU-guest-{number}"\n' for number in range(8))


def node_guids(hosts: dict[str, str]) -> str:
    """The guest's NICs with the node GUIDs of functions of a host."""
    return "[files]\n" + "".join(
        f'"/sys/class/infiniband/{name}/node_guid" = "a088:c203:0000:{bus}00"\n' for name, bus in hosts.items()
    )


def sriov_host() -> str:
    """`dgx-h100` with a virtual function on each rail, passed to guests."""
    rail = 'rail = "+0:01.0 +1:00.0 +2:00.0 +3:00.0"\n'
    virtual = 'virtual = "+0:01.0 +1:00.0 +2:00.0 +3:00.1"\n'
    made = text("dgx-h100").replace(rail, rail + virtual).replace("[[pci]]", VIRTUAL + "\n[[pci]]", 1)
    links = (
        f'"/sys/bus/pci/devices/0000:{bus}:00.1/physfn" = {{ link = "/sys/bus/pci/devices/0000:{bus}:00.0" }}\n'
        for bus in DGX_RAILS
    )
    return made + "[files]\n" + "".join(links)


def vfio_host() -> str:
    """`dgx-h100` with GPUs and rails bound to vfio-pci: no driver names them."""
    made = text("dgx-h100").replace("sm = 90\n", 'sm = 90\ndriver = "vfio-pci"\n')
    start, end = made.index("[nic.rail]"), made.index("[nic.storage]")
    rail = made[start:end].replace('driver = "mlx5_core"', 'driver = "vfio-pci"')
    named = ("rdma", "netdev", "layer", "firmware", "board", "max_qp", "hca")
    bare = "".join(f"{line}\n" for line in rail.splitlines() if line.partition(" ")[0] not in named)
    return f'{made[:start]}{bare}{made[end:]}[facts]\nnvml = {{ error = "NVML: Driver Not Loaded" }}\n'
