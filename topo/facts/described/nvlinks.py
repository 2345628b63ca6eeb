# SPDX-License-Identifier: Apache-2.0
"""The NVLinks of a described machine: each [[nvlink]] adds links to what NVML answers about GPUs.

switches: links of every GPU to each device of a kind ("unseen": one NVSwitch out of sight); pairs: links between two
GPUs by index, or from a GPU to a bus id (the processor's, on POWER9); fabric: NVLink across nodes.
"""

from typing import Any

from railgauge.topo.facts.described.pci import PciTree, of_kind
from railgauge.topo.facts.described.section import Section
from railgauge.topo.values.busid import is_bus_id

UNSEEN = "FFFFFFFF:FF:FF.0"  # NVML's bus id of an NVSwitch that the host does not see
TO_GPU, TO_CPU, TO_SWITCH = 0, 1, 2  # nvmlIntNvLinkDeviceType_t
FABRIC_DONE = 3  # NVML_GPU_FABRIC_STATE_COMPLETED
MAX_LINKS = 64  # of one GPU; today's have 18
Answers = list[dict[str, Any]]  # of NVML, by GPU


def connect(top: Section, tree: PciTree, gpus: Answers) -> None:
    """Add all of [[nvlink]] to the GPUs' answers."""
    for section in top.sections("nvlink"):
        version = section.integer("version") if "version" in section else None
        chosen = section.numbers("gpus", "") or tuple(range(len(gpus)))
        if chosen and chosen[-1] >= len(gpus):
            raise section.wrong("gpus", f"no GPU {chosen[-1]}: there are {len(gpus)} GPUs")
        to_switches = _to_switches(section.section("switches"), tree, version)
        fabric = _fabric(section.section("fabric"))
        for index in chosen:
            gpus[index]["links"] += to_switches
            gpus[index]["fabric"] = fabric
        _pairs(section.section("pairs"), gpus, version)
        section.end()


def _to_switches(switches: Section, tree: PciTree, version: int | None) -> Answers:
    links: Answers = []
    for name in switches:
        nodes = of_kind(tree, f"device.{name}")
        ends = [UNSEEN] if name == "unseen" else [spelled(node.bus_id) for node in nodes]
        counts = switches.integers(name)
        if any(not 0 <= count <= MAX_LINKS for count in counts):
            raise switches.wrong(name, f"a GPU has at most {MAX_LINKS} NVLinks")
        if len(counts) != len(ends):
            raise switches.wrong(name, f"has {len(counts)} counts for {len(ends)} switches: give one for each")
        for end, count in zip(ends, counts, strict=True):
            links += [link_answer(end, TO_SWITCH, version)] * count
    return links


def _fabric(section: Section) -> dict[str, Any] | None:
    if not list(section):
        return None
    cluster, clique = section.text("cluster"), section.integer("clique")
    section.end()
    return {"state": FABRIC_DONE, "status": 0, "clique": clique, "cluster": cluster, "health": 0}


def _pairs(pairs: Section, gpus: Answers, version: int | None) -> None:
    for key in pairs:
        first, _, last = key.partition("-")
        if not first.isdecimal() or not (last.isdecimal() or is_bus_id(last)):
            raise pairs.wrong(key, "expected a GPU's index and another index or a bus id, e.g. 0-1 or 0-0004:00:00.0")
        if any(end.isdecimal() and int(end) >= len(gpus) for end in (first, last)):
            raise pairs.wrong(key, f"there are {len(gpus)} GPUs")
        gpu, peer = gpus[int(first)], gpus[int(last)] if last.isdecimal() else None
        end, kind = (peer["pci"], TO_GPU) if peer else (spelled(last), TO_CPU)
        count = pairs.integer(key, most=MAX_LINKS)
        gpu["links"] += [link_answer(end, kind, version)] * count
        if peer:
            peer["links"] += [link_answer(gpu["pci"], TO_GPU, version)] * count


def link_answer(end: str, kind: int | None, version: int | None) -> dict[str, Any]:
    """NVML's answer for a link that is up and carries P2P; `end` in NVML's spelling."""
    return {"state": 1, "p2p": 1, "remote": end, "version": version, "type": kind}


def spelled(bus_id: str) -> str:
    """A bus id in NVML's spelling, 00000000:1B:00.0."""
    return f"0000{bus_id}".upper()
