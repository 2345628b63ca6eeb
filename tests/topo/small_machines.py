# SPDX-License-Identifier: Apache-2.0
"""Machines in a few words, as NCCL's XML and as Systems, and random ones."""

from hypothesis import strategies as st

from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.topology import Topology

FACTS = {
    "GenuineIntel": 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"',
    "AuthenticAMD": 'arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="17"',
    "arm64": 'arch="arm64"',
    "ppc64": 'arch="ppc64"',
}
SWITCHED = '<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>'
C2C = '<c2c bw="44712" count="10"/>'


def pci(bus: str, kind: str, inside: str, device: str = "", speed: str = "16.0 GT/s PCIe") -> str:
    return f'<pci busid="{bus}" class="{kind}" {device} link_speed="{speed}" link_width="16">{inside}</pci>'


def gpu(bus: str, dev: int, inside: str = "", *, sm: int = 80, gdr: int = 1, rank: int | None = None) -> str:
    number = dev if rank is None else rank
    return pci(bus, "0x030200", f'<gpu dev="{dev}" sm="{sm}" rank="{number}" gdr="{gdr}">{inside}</gpu>')


def nvlink(bus: str, count: int = 1) -> str:
    return f'<nvlink target="{bus}" count="{count}" tclass="0x030200"/>'


def net(dev: int, *, mbps: int = 200000, gdr: int = 1) -> str:
    facts = f'name="mlx5_{dev}" dev="{dev}" speed="{mbps}" port="1" guid="0x{dev + 1:x}" gdr="{gdr}"'
    return f"<nic><net {facts}/></nic>"


def nic(bus: str, dev: int, *, mbps: int = 200000, gdr: int = 1) -> str:
    return pci(bus, "0x020000", net(dev, mbps=mbps, gdr=gdr))


def switch(bus: str, *inside: str, device: str = "") -> str:
    return pci(bus, "0x060400", "".join(inside), device)


def topology(*cpus: str, vendor: str = "GenuineIntel") -> Topology:
    """One <cpu> for each text of devices, on one host."""
    body = "".join(f'<cpu numaid="{i}" affinity="ff" {FACTS[vendor]}>{inside}</cpu>' for i, inside in enumerate(cpus))
    return topology_file.loads(f'<system version="1">{body}</system>')


def machine(*cpus: str, vendor: str = "GenuineIntel") -> System:
    return build_system(topology(*cpus, vendor=vendor))


def hosts(*inside: str) -> System:
    """One CPU a host."""
    body = "".join(
        f'<cpu host_hash="0x{i + 1:x}" numaid="0" arch="arm64">{part}</cpu>' for i, part in enumerate(inside)
    )
    return build_system(topology_file.loads(f'<system version="1">{body}</system>'))


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Up to three sockets with GPUs and NICs on the socket or below up to two levels of switches, and NVLinks."""
    parts = st.sampled_from(["gpu", "nic", "switch"])
    layout = draw(st.lists(st.lists(parts, max_size=5), min_size=1, max_size=3))
    places = [(c, i) for c, kinds in enumerate(layout) for i, kind in enumerate(kinds) if kind == "gpu"]
    wires = dict.fromkeys(places, "")
    pairs = [(a, b) for a in places for b in places if a < b]
    for a, b in draw(st.lists(st.sampled_from(pairs), max_size=6, unique=True)) if pairs else []:
        count = draw(st.integers(1, 4))
        wires[a] += nvlink(bus_of(*b), count)
        wires[b] += nvlink(bus_of(*a), count)
    switched = draw(st.booleans())
    sm, counts, cpus = draw(st.sampled_from([70, 80, 90, 100])), {"gpu": 0, "nic": 0}, []
    for c, kinds in enumerate(layout):
        body = ""
        for i, kind in enumerate(kinds):
            if kind == "switch":
                body = switch(f"000{c + 1}:f{i:x}:00.0", body) if body else ""
                continue
            gdr = draw(st.sampled_from([1, 1, 1, 0]))
            if kind == "gpu":
                body += gpu(bus_of(c, i), counts[kind], wires[c, i] + SWITCHED * switched, sm=sm, gdr=gdr)
            else:
                mbps = draw(st.sampled_from([10000, 200000, 800000]))
                body += nic(bus_of(c, i), counts[kind], mbps=mbps, gdr=gdr)
            counts[kind] += 1
        cpus.append(body)
    return topology(*cpus, vendor=draw(st.sampled_from(sorted(FACTS))))


def machines() -> st.SearchStrategy[System]:
    """The Systems of such topologies."""
    return topologies().map(build_system)


def bus_of(cpu: int, place: int) -> str:
    return f"0000:{cpu + 1:x}{place:x}:00.0"
