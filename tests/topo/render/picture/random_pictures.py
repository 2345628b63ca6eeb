# SPDX-License-Identifier: Apache-2.0
"""Random machines of every shape a picture has to stand: many hosts, sockets, nested switches, stacks, NVLinks, C2C."""

from hypothesis import strategies as st
from tests.topo.small_machines import C2C, FACTS, SWITCHED, gpu, nic, nvlink, switch

from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.render.picture.from_system import picture
from railgauge.topo.render.picture.parts import Picture
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.topology import Topology


def drawn(described: Topology) -> Picture:
    """Its picture."""
    return picture(build_system(described), described, name="test")


class _Counter:
    """Bus ids and device numbers of one host, never the same twice; NVLink partners are told later."""

    def __init__(self, host: int) -> None:
        self.host, self.gpus, self.nics, self.buses = host, 0, 0, 0

    def bus(self) -> str:
        self.buses += 1
        return f"{self.host:04x}:{self.buses:02x}:00.0"


def _devices(draw: st.DrawFn, counter: _Counter, depth: int) -> str:
    text = ""
    for kind in draw(st.lists(st.sampled_from(["gpu", "nic", "nics", "switch"]), max_size=3)):
        if kind == "gpu":
            text += gpu(counter.bus(), counter.gpus, f"LINKS-{counter.gpus}-", sm=90)
            counter.gpus += 1
        elif kind == "switch" and depth < 3:
            text += switch(counter.bus(), _devices(draw, counter, depth + 1))
        elif kind.startswith("nic"):
            for _ in range(draw(st.integers(3, 9)) if kind == "nics" else 1):
                text += nic(counter.bus(), counter.nics, mbps=draw(st.sampled_from([10_000, 400_000, 1_600_000])))
                counter.nics += 1
    return text


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Up to three hosts of up to four NUMA nodes."""
    body, fabric = "", draw(st.sampled_from(["", SWITCHED, C2C, SWITCHED + C2C, "mesh"]))
    for host in range(draw(st.integers(1, 3))):
        counter = _Counter(host)
        for numa in range(draw(st.integers(1, 4))):
            vendor = FACTS[draw(st.sampled_from(sorted(FACTS)))]
            affinity = draw(st.sampled_from(["ff", "55555555,55555555", "ffffffff,00000000,ffffffff"]))
            head = f'<cpu host_hash="0x{host + 1:x}" numaid="{numa}" affinity="{affinity}" {vendor}>'
            body += f"{head}{_devices(draw, counter, 0)}</cpu>"
        body = _linked(draw, body, counter.gpus, fabric)
    return topology_file.loads(f'<system version="1">{body}</system>')


def _linked(draw: st.DrawFn, body: str, gpus: int, fabric: str) -> str:
    """Put the NVLinks of a host's GPUs where they belong."""
    buses = {}
    for dev in range(gpus):
        head = body[: body.index(f"LINKS-{dev}-")]
        buses[dev] = head[head.rindex('busid="') + 7 :][:12]
    wires = dict.fromkeys(range(gpus), "" if fabric == "mesh" else fabric)
    for a in range(gpus if fabric == "mesh" else 0):
        for b in range(a):
            count = draw(st.integers(0, 2))
            wires[a] += nvlink(buses[b], count) if count else ""
            wires[b] += nvlink(buses[a], count) if count else ""
    for dev in range(gpus):
        body = body.replace(f"LINKS-{dev}-", wires[dev])
    return body
