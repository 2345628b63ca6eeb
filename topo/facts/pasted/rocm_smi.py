# SPDX-License-Identifier: Apache-2.0
"""`rocm-smi --showtopo` and `amd-smi topology`: AMD's GPUs, which of them XGMI joins, and their NUMA nodes.

It becomes a topology of RCCL: devices without a bus id get one of the assumed domain, GPUs that XGMI joins one link
where their weight is that of the nearest, since farther ones are joined through others (KFD counts 15 a hop).
"""

import re
from collections.abc import Iterator

from railgauge.topo.values.busid import ASSUMED

SECTION = re.compile(
    r"(?:={3,} ?)?(?:(?P<weight>Weight between two GPUs|WEIGHT TABLE)"
    r"|(?P<type>Link Type between two GPUs|LINK TYPE TABLE))"
    r"|={3,} ?[A-Z][\w ]{2,60} ?={3,}|^[A-Z ]{3,40} TABLE:|^Legend:"
)
"""Titles of the tables; others end the one before."""
BUS_ID = r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
NAME = re.compile(rf"GPU\d{{1,3}}|{BUS_ID}")
NUMA = re.compile(r"GPU\[(\d{1,3})\]\s*: \(Topology\) Numa Node: (-?\d{1,3})")
MODELS = (
    ("gfx950", re.compile(r"\bgfx950\b|MI35[05]")),
    ("gfx942", re.compile(r"\bgfx942\b|MI3[02]")),
    ("gfx90a", re.compile(r"\bgfx90a\b|MI2[15]")),
    ("gfx908", re.compile(r"\bgfx908\b|MI100")),
    ("gfx906", re.compile(r"\bgfx906\b|MI[56]0\b|Vega 20")),
)
MOST = 128
"""GPUs of a host: partitions of 8 MI300X are 64."""
MESH = 8
Table = dict[tuple[str, str], str]


def is_rocm_smi(text: str) -> bool:
    """Whether a text has the table of link types."""
    return any(found["type"] for found in SECTION.finditer(text))


def topology_of(text: str) -> tuple[bytes, tuple[str, ...]]:
    """The topology as RCCL would write it, and what is assumed in it, in words."""
    tables = _tables(text)
    types, weights = tables.get("type", {}), tables.get("weight", {})
    names = list(dict.fromkeys(name for pair in types for name in pair))[:MOST]
    joined = {pair for pair, kind in types.items() if kind == "XGMI"}
    nearest = min((int(weights[pair]) for pair in joined if weights.get(pair, "").isdecimal()), default=None)
    direct = {pair for pair in joined if nearest is None or weights.get(pair, str(nearest)) == str(nearest)}
    direct |= {(other, one) for one, other in direct}
    numa = {f"GPU{index}": node for index, node in NUMA.findall(text)}
    places = {
        name: name.lower() if ":" in name else f"{ASSUMED}:{number:02x}:00.0" for number, name in enumerate(names)
    }
    is_mesh = len(names) == MESH and all(kind == "XGMI" for (one, other), kind in types.items() if one != other)
    said = next((model for model, words in MODELS if words.search(text)), None)
    model = said or ("gfx942" if is_mesh else "gfx90a")
    nodes: dict[str, list[str]] = {}
    for dev, name in enumerate(names):
        peers = [other for other in names if (name, other) in direct]
        nodes.setdefault(numa.get(name, "0"), []).append(_gpu(dev, places[name], model, [places[one] for one in peers]))
    body = "".join(f'<cpu numaid="{node}">\n{"".join(gpus)}</cpu>\n' for node, gpus in sorted(nodes.items()))
    cut = [name for name in names if (name, name) not in types]
    return f'<system version="2">\n{body}</system>\n'.encode(), tuple(_words(names, said, model, numa, cut))


def _words(names: list[str], said: str | None, model: str, numa: dict[str, str], cut: list[str]) -> Iterator[str]:
    if cut:
        yield f"the table breaks off: what joins {', '.join(cut)} among themselves is not said"
    if any(":" not in name for name in names):
        yield f"rocm-smi's tables have no bus ids: those of domain {ASSUMED} are assumed"
    if said is None:
        yield f"the model of GPUs is not said: {model} is assumed"
    if not numa:
        yield "NUMA nodes are not said: node 0 is assumed"


def _gpu(dev: int, bus_id: str, model: str, peers: list[str]) -> str:
    links = "".join(f'<xgmi target="{peer}" count="1" tclass="0x038000"/>\n' for peer in peers)
    gpu = f'<gpu dev="{dev}" gcn="{model}" arch="38911" rank="{dev}" gdr="1">\n{links}</gpu>\n'
    return f'<pci busid="{bus_id}" class="0x038000" vendor="0x1002" link_speed="" link_width="0">\n{gpu}</pci>\n'


def _tables(text: str) -> dict[str, Table]:
    """Cells by row and column of the tables of weights and of link types."""
    found: dict[str, Table] = {}
    table: Table | None = None
    columns: list[str] = []
    for line in text.splitlines():
        if section := SECTION.search(line):
            kind = section.lastgroup
            table, columns = (found.setdefault(kind, {}) if kind else None), []
            continue
        words = line.split()
        if table is None or not words or not NAME.fullmatch(words[0]):
            continue
        if all(NAME.fullmatch(word) for word in words):
            columns = words
        else:
            table |= {(words[0], column): cell for column, cell in zip(columns, words[1:], strict=False)}
    return found
