# SPDX-License-Identifier: Apache-2.0
"""Published measurements of nccl-tests and rccl-tests, as facts: machine, release, sizes, times, bandwidths.

tables.jsonl has one table a line, with the fields of PublishedTable. Figures are the source's own; what it does not
print is null, never computed. Zero sizes are left out, of a size that comes twice the second row; long tables (steps of
kilobytes) are thinned to the rows nearest to powers of two and of the root of two. Titles and reasons are our words.
"""

import hashlib
import json
import pathlib
from typing import Any, Literal, NamedTuple

TABLES = pathlib.Path(__file__).with_name("tables.jsonl")


class PublishedRow(NamedTuple):
    """One size: bytes, times in us and bus bandwidths in GB/s, None where the source does not print them."""

    bytes: int
    us: float | None
    busbw: float | None
    in_place_us: float | None
    in_place_busbw: float | None


class PublishedMachine(NamedTuple):
    """Where it ran. `sku` is the fixture with the same GPUs' links and, from two nodes on, the same NICs, else None."""

    gpu: str
    gpus_per_node: int  # GPUs that took part, which may be fewer than the fixture has
    nodes: int
    fabric: str  # between the GPUs of a node: nvswitch, nvlink-mesh, nvlink-bridge, xgmi, pcie; none for one GPU
    network: str | None  # between nodes: infiniband, roce, efa, slingshot, tcpx, tcpxo, mnnvl, sockets; None: unknown
    nics: str | None  # of one node
    cloud: str | None
    sku: str | None


class PublishedTable(NamedTuple):
    """One table of one source."""

    source: str  # URL of the thread or page, of the repository, or of its folder with one machine's results
    path: str | None  # of the file, where the source is a repository
    title: str
    machine: PublishedMachine
    release: str | None  # of NCCL, or "RCCL ..."
    tests: str | None  # release of nccl-tests
    settings: list[str]  # NCCL_* known to be set; a name alone where the value is a file
    nvls: bool | None  # whether NVLink SHARP took part: None is unknown
    per_thread: int | None  # GPUs that one thread drives (nccl-tests -g)
    collective: str
    type: str
    redop: str | None
    ranks: int
    rows: list[PublishedRow]
    average_busbw: float | None
    wrong: int | None  # wrong elements that the table counts; None where it did not check
    peak_busbw: float | None  # the figure of a source that states one without a table
    verdict: Literal["healthy", "faulty", "unknown"]  # what the source's people found
    cause: str | None  # the finding of `railgauge explain` that fits
    why: str | None


def read() -> list[PublishedTable]:
    """Every table, in the order of the file."""
    return [_table(json.loads(line)) for line in TABLES.read_text().splitlines()]


def half(source: str) -> Literal["set", "judge"]:
    """Whether a source's tables may set constants or judge them, drawn by a SHA-256 of its URL."""
    return "set" if hashlib.sha256(source.encode()).digest()[0] % 2 == 0 else "judge"


def _table(fields: dict[str, Any]) -> PublishedTable:
    rows = [PublishedRow(*row) for row in fields["rows"]]
    return PublishedTable(**{**fields, "machine": PublishedMachine(**fields["machine"]), "rows": rows})
