# SPDX-License-Identifier: Apache-2.0
"""The System: one immutable graph of nodes and links with bandwidths, the input of every analysis.

Node, link and path types follow NCCL 2.30 (src/graph/topo.h), whose DEV node stands between a GPU and its links. HOST
and MEM are ours: a rank on host memory and the memory of a NUMA node.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

LOCAL_GB_PER_S = 5000.0  # LOC_BW: "no limit" in NCCL's model


class NodeKind(StrEnum):
    """What a node is; the value is the prefix of its id."""

    GPU = "GPU"
    PCI = "PCI"
    NVS = "NVS"
    CPU = "CPU"
    NIC = "NIC"
    NET = "NET"
    DEV = "DEV"
    HOST = "HOST"
    MEM = "MEM"


class LinkKind(StrEnum):
    """What a link is."""

    LOC = "LOC"
    NVL = "NVL"
    C2C = "C2C"
    PCI = "PCI"
    SYS = "SYS"
    NET = "NET"
    MEM = "MEM"


PATH_TYPES = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")
"""Path types from nearest to furthest, as NCCL orders them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node. `id` is as NCCL 2.30 logs it (GPU/0-1b000); `index` counts the nodes of a kind in order of creation.

    What a kind does not have is None: dev (GPU: NVML index; NET: plugin index; HOST: the rank), rank, sm (90 for 9.0),
    gfx (AMD's architecture), gdr, bus_id; name, port and asic of a NET (its card, by GUID); vendor and arch of a CPU.
    `cpus`: the cores of a CPU node, or those a HOST rank may run on; empty when unknown. `device`: vendor, device and
    subsystem ids of a PCI switch in one number; of a CPU family and model (`family_and_model`).
    """

    id: str
    kind: NodeKind
    index: int
    system: int = 0
    dev: int | None = None
    rank: int | None = None
    sm: int | None = None
    gfx: str | None = None
    gdr: bool | None = None
    bus_id: str | None = None
    name: str | None = None
    port: int | None = None
    asic: int | None = None
    latency_us: float | None = None
    numa: int | None = None
    arch: str | None = None
    vendor: str | None = None
    cpus: tuple[int, ...] = ()
    device: int | None = None
    line: int | None = None

    @property
    def device_number(self) -> int:
        """`dev` of a GPU, which has one."""
        assert self.dev is not None
        return self.dev

    @property
    def family_and_model(self) -> tuple[int, int]:
        """What `device` of a CPU holds, as NCCL's XML numbers them: the family above 32 bits of the model."""
        return divmod(self.device or 0, 1 << 32)


class Link(NamedTuple):
    """One direction of a link: from node `source` to node `target`, with its bandwidth in GB/s.

    `gb_per_s` is what NCCL plans with, `origin` the origin of that figure, such as "32 GT/s x16"; "" if NCCL's model
    has no limit. `assumed`: the machine does not report it; the figure is NCCL's default or one for planning.
    `now_gb_per_s`, `now`: what it runs at and the origin of that, where it is less than planned; else None and "".
    """

    source: str
    target: str
    kind: LinkKind
    gb_per_s: float
    origin: str = ""
    assumed: bool = False
    now_gb_per_s: float | None = None
    now: str = ""

    @property
    def real_gb_per_s(self) -> float:
        """What it runs at; what NCCL plans with where nothing less is known."""
        return self.gb_per_s if self.now_gb_per_s is None else self.now_gb_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """All nodes and links; `ranks` are the nodes that take part, in rank order.

    `net_order`: the ids of `listed_nets`; empty where each NET is listed once.
    Links are grouped by source, and within one in NCCL's order: NVLinks by falling bandwidth, PCI down, PCI up, SYS.
    """

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    ranks: tuple[Node, ...]
    net_order: tuple[str, ...] = ()
    _by_id: dict[str, Node] = field(init=False, repr=False, compare=False)
    _out: dict[str, tuple[Link, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        out: dict[str, list[Link]] = {node.id: [] for node in self.nodes}
        for link in self.links:
            out[link.source].append(link)
        object.__setattr__(self, "_by_id", {node.id: node for node in self.nodes})
        object.__setattr__(self, "_out", {key: tuple(value) for key, value in out.items()})

    def node(self, node_id: str) -> Node:
        """The node of that id; KeyError without one."""
        return self._by_id[node_id]

    def links_of(self, node_id: str) -> tuple[Link, ...]:
        """The links that leave a node, in NCCL's order."""
        return self._out[node_id]

    def kind(self, kind: NodeKind) -> tuple[Node, ...]:
        """The nodes of one kind, in order of creation."""
        return tuple(node for node in self.nodes if node.kind == kind)

    @property
    def slow(self) -> tuple[Link, ...]:
        """The links that run slower than NCCL plans with, in both directions."""
        return tuple(link for link in self.links if link.now_gb_per_s is not None)

    @property
    def gpus(self) -> tuple[Node, ...]:
        """The GPUs in NCCL's order."""
        return self.kind(NodeKind.GPU)

    @property
    def nets(self) -> tuple[Node, ...]:
        """The network devices in NCCL's order."""
        return self.kind(NodeKind.NET)

    @property
    def listed_nets(self) -> tuple[Node, ...]:
        """The same as often as the topology lists each: NCCL counts them so where it distributes NICs."""
        return tuple(self._by_id[net] for net in self.net_order) or self.nets
