# SPDX-License-Identifier: Apache-2.0
"""The matrix of `nvidia-smi topo -m`: how GPUs and NICs reach each other, with its letters, legend and affinities.

Letters come from the plain wires, before NCCL's changes. NODE is never printed: the model knows no host bridges within
a NUMA node.
"""

from dataclasses import dataclass

from railgauge.topo import bandwidth
from railgauge.topo.cpuset import to_list
from railgauge.topo.model import Node, NodeKind, System
from railgauge.topo.paths import Path, Paths, plain_paths

LEGEND = """\
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU);
         nvidia-smi's NODE too, because NCCL's XML holds no host bridges
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  C2C  = Connection traversing the chip-to-chip link between GPU and CPU
  NVB  = Connection traversing NVLinks through one other GPU (a type of NCCL's, not of nvidia-smi's)
  NV#  = Connection traversing a bonded set of # NVLinks"""
NICS = "NIC Legend:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Cells by row, the first row being the header; `nics` names the NIC columns."""

    rows: tuple[tuple[str, ...], ...]
    nics: tuple[tuple[str, str], ...]


def matrix(system: System) -> Matrix:
    """The matrix of a System; host ranks take the GPUs' place."""
    table = plain_paths(system)
    gpus = sorted(system.ranks or system.gpus, key=lambda node: node.dev or 0)
    ends = [*gpus, *sorted(system.nets, key=lambda node: node.dev or 0)]
    names = [_name(node) for node in ends]
    header = ("", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
    rows = [
        (name, *(_cell(table, node, other) for other in ends), *_affinity(system, table, node))
        for name, node in zip(names, ends, strict=True)
    ]
    nics = tuple((_name(net), net.name or "?") for net in ends[len(gpus) :])
    return Matrix(rows=(header, *rows), nics=nics)


def _name(node: Node) -> str:
    prefix = {NodeKind.GPU: "GPU", NodeKind.HOST: "RANK"}.get(node.kind, "NIC")
    return f"{prefix}{node.dev}" if node.system == 0 else f"{prefix}{node.system}.{node.dev}"


def _cell(table: Paths, node: Node, other: Node) -> str:
    if node.id == other.id:
        return "X"
    path = table.get(node.id, other.id)
    if path.type == "NVL":
        return f"NV{_nvlinks(node, path)}"
    return {"LOC": "PIX", "DIS": "N/A"}.get(path.type, path.type)  # two ports of one card: a single bridge between them


def _nvlinks(node: Node, path: Path) -> int:
    return round(path.gb_per_s / bandwidth.nvlink(node.sm or 0))


def _affinity(system: System, table: Paths, node: Node) -> tuple[str, str, str]:
    """CPU affinity, NUMA affinity, and the GPU's own NUMA node (which sysfs alone does not tell); NICs have none."""
    if node.kind is NodeKind.NET:
        return "", "", ""
    if node.kind is NodeKind.HOST:
        return to_list(node.cpus) or "N/A", str(node.numa), ""
    cpus = [(table.get(node.id, cpu.id), cpu) for cpu in system.kind(NodeKind.CPU)]
    near = min((c for c in cpus if c[0].type != "DIS"), key=lambda c: c[0].hops, default=None)
    if near is None:
        return "N/A", "N/A", "N/A"
    numa = near[1].numa
    return to_list(near[1].cpus) or "N/A", "N/A" if numa is None or numa < 0 else str(numa), "N/A"
