# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA as a matrix, GPUs by NICs, with a legend, and below it the findings, each with its pairs."""

from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.gdr import GDR_TRANSFER
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.gdr.findings import name
from railgauge.topo.findings.gdr.pairs import GdrPair
from railgauge.topo.render.findings import by_subject, lines_of, summary
from railgauge.topo.render.palette import Line, line

USED = "*"
LEGEND = """\
  yes   sending and receiving would use GPUDirect RDMA      send, recv   that direction only
  no    neither would                                       ?            unknown
  *     the NIC that NCCL uses for that GPU                 PIX ... SYS  distance between them (PXN: a GPU relays)"""
PROOF = """\
This is NCCL's decision; no data was moved. To prove it, run a job with NCCL_DEBUG=INFO (via NET/IB/0/GDRDMA),
or perftest's ib_write_bw --use_cuda=0 between two nodes."""


def gdr_lines(pairs: Sequence[GdrPair], findings: Sequence[Finding]) -> Iterator[Line]:
    """The matrix with its legend, unless there is no pair, and the findings."""
    if pairs:
        proven = any(one.id == GDR_TRANSFER.id and one.level is not Level.UNKNOWN for one in findings)
        for text in (*_matrix(pairs), "", *LEGEND.splitlines(), *(() if proven else ("", *PROOF.splitlines())), ""):
            yield line(text)
    yield from lines_of(by_subject(findings))
    yield line(summary(findings))


def _matrix(pairs: Sequence[GdrPair]) -> Iterator[str]:
    cells = {tuple(name(pair).split(" ", 1)): _cell(pair) for pair in pairs}
    gpus, nets = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    rows = [["", *nets], *([gpu, *(cells.get((gpu, net), "") for net in nets)] for gpu in gpus)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(nets) + 1)]
    return ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _cell(pair: GdrPair) -> str:
    sending, receiving = (way.on for way in pair.ways)
    word = "yes" if sending and receiving else "send" if sending else "recv" if receiving else "no"
    distance = "PXN" if pair.sending.relay else pair.sending.distance
    return f"{'?' if pair.unknown else word} {distance}{USED * pair.used}"
