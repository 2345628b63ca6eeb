# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA as a matrix, GPUs by NICs, with a legend, and below it the findings, each with its pairs."""

from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.gdr import GDR_TRANSFER
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.gdr.findings import name
from railgauge.topo.findings.gdr.pairs import GdrPair
from railgauge.topo.render.findings import Detail, folded_lines, summary
from railgauge.topo.render.palette import Line, line
from railgauge.topo.render.wrapping import fitting
from railgauge.topo.values.number import natural

USED = "*"
LEGEND = """\
  yes         sending and receiving would use GPUDirect RDMA
  send, recv  that direction only
  no          neither would
  ?           unknown
  *           the NIC that NCCL uses for that GPU
  PIX ... SYS distance between them (PXN: a GPU relays)"""
PROOF = """\
This is NCCL's decision; no data was moved. To prove it, run a job with
NCCL_DEBUG=INFO (via NET/IB/0/GDRDMA), or perftest's ib_write_bw --use_cuda=0
between two nodes."""


def gdr_lines(
    pairs: Sequence[GdrPair],
    findings: Sequence[Finding],
    *,
    detail: Detail = Detail.USUAL,
    width: int | None = None,
) -> Iterator[Line]:
    """The matrix with its legend, unless there is no pair, and the findings; NICs that do not fit the width are left
    out.
    """
    if pairs and detail is not Detail.BRIEF:
        proven = any(one.id == GDR_TRANSFER.id and one.level is not Level.UNKNOWN for one in findings)
        for text in (
            *_matrix(pairs, width),
            "",
            *LEGEND.splitlines(),
            *(() if proven else ("", *PROOF.splitlines())),
            "",
        ):
            yield line(text)
    yield from folded_lines(findings, detail)
    if detail is not Detail.BRIEF:
        yield line(summary(findings))


def _matrix(pairs: Sequence[GdrPair], width: int | None) -> Iterator[str]:
    cells = {tuple(name(pair).split(" ", 1)): _cell(pair) for pair in pairs}
    gpus = sorted({gpu for gpu, _ in cells}, key=natural)
    nets = list(dict.fromkeys(net for _, net in cells))
    rows = [["", *nets], *([gpu, *(cells.get((gpu, net), "") for net in nets)] for gpu in gpus)]
    lines = fitting(rows, width)
    yield from lines
    if (shown := len(lines[0].split())) < len(nets):
        yield f"({', '.join(nets[shown:])} left out: the terminal is too narrow)"


def _cell(pair: GdrPair) -> str:
    sending, receiving = (way.on for way in pair.ways)
    word = "yes" if sending and receiving else "send" if sending else "recv" if receiving else "no"
    distance = "PXN" if pair.sending.relay else pair.sending.distance
    return f"{'?' if pair.unknown else word} {distance}{USED * pair.used}"
