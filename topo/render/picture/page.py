# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a machine: the picture, the matrix, tables of its devices, and what is wrong or unknown.

With findings it is the report of `check`.
"""

from collections.abc import Sequence

from railgauge.topo.findings.finding import Finding
from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.render import findings_html as found
from railgauge.topo.render import palette
from railgauge.topo.render.markup import escape, page, section, table, themed
from railgauge.topo.render.matrix import Matrix
from railgauge.topo.render.picture import svg
from railgauge.topo.render.picture.layout import lay_out
from railgauge.topo.render.picture.parts import PROBLEM, Picture, PicturePart

CELL_COLOURS = {
    "nvlink": palette.FILLS[NodeKind.GPU],
    "switch": palette.FILLS[NodeKind.NIC],
    "far": palette.FAR,
}
TABLES_STYLE = ".tables { display: flex; flex-wrap: wrap; gap: 0 4rem; align-items: flex-start }"
STYLE = f"{TABLES_STYLE}\n{themed([(f'.{name}', 'background', each) for name, each in CELL_COLOURS.items()])}"
CELLS = {"PIX": "switch", "PXB": "switch", "PHB": "far", "NODE": "far", "SYS": "far"}
TABLES = (
    (NodeKind.GPU, "GPUs"),
    (NodeKind.HOST, "Host ranks"),
    (NodeKind.NIC, "NICs"),
    (NodeKind.PCI, "PCIe switches"),
    (NodeKind.CPU, "CPUs"),
)


def dumps(
    picture: Picture,
    matrix: Matrix,
    warnings: Sequence[str],
    findings: Sequence[Finding] = (),
    gone: Sequence[Finding] = (),
    about: Sequence[str] = (),
) -> str:
    """The page; `warnings` are what could not be learnt about the machine, `findings` what a check says of it, `gone`
    what its baseline had, `about` the lines at its top. What is wrong stands once: with findings these say it.
    """
    parts = picture.parts()
    tables = (section(title, _devices(parts, kind)) for kind, title in TABLES)
    told = section("Could not be read", _warnings((), warnings)) if findings else ""
    counted = "".join(f"<p>{escape(sentence)}</p>" for sentence in matrix.counted_otherwise)
    body = (
        *_top(picture.title, about, findings),
        f"<figure>\n{svg.dumps(lay_out(picture))}</figure>",
        section("Findings", found.html(findings)),
        section("Gone since the baseline", found.html(gone)),
        told if findings else section("What is wrong or unknown", _warnings(parts, warnings)),
        f'<div class="tables">{"".join(tables)}</div>',
        section("Who reaches whom", f"{_matrix(matrix)}<pre>{escape(matrix.legend)}</pre>{counted}"),
    )
    return page(picture.title, body, f"{STYLE}\n{found.STYLE}" if findings else STYLE)


def without_picture(
    title: str, findings: Sequence[Finding], gone: Sequence[Finding] = (), about: Sequence[str] = ()
) -> str:
    """The findings alone, about a machine of which no model can be made."""
    sections = (section("Findings", found.html(findings)), section("Gone since the baseline", found.html(gone)))
    return page(title, (*_top(title, about, findings), *sections), found.STYLE)


def _top(title: str, about: Sequence[str], findings: Sequence[Finding]) -> tuple[str, ...]:
    """The heading of a report: the machine, and how many findings there are."""
    if not findings:
        return ()
    return (f"<h1>{escape(title)}</h1>", *(f"<p>{escape(text)}</p>" for text in about), found.counted(findings))


def _warnings(parts: Sequence[PicturePart], warnings: Sequence[str]) -> str:
    bad = [f"{part.title} {part.id}: {fault}" for part in parts for fault in part.faults]
    lines = [f'<li class="wrong">{escape(text)}</li>' for text in bad] + [
        f"<li>{escape(text)}</li>" for text in warnings
    ]
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def _devices(parts: Sequence[PicturePart], kind: NodeKind) -> str:
    """A table of one kind, a column for each fact that any of them has."""
    rows = [part for part in parts if part.kind is kind]
    columns = list(dict.fromkeys(what for part in rows for what, _ in part.facts))
    return table(("", *columns), [_device(part, columns) for part in rows]) if rows else ""


def _device(part: PicturePart, columns: list[str]) -> str:
    cells = []
    for column in columns:
        text = "<br>".join(escape(text) for what, text in part.facts if what == column)
        cells.append(f'<td class="wrong">{text}</td>' if column == PROBLEM else f"<td>{text}</td>")
    return f"<tr><th>{escape(part.title)}</th>{''.join(cells)}</tr>"


def _matrix(matrix: Matrix) -> str:
    head, *rows = matrix.rows
    lines = [f"<tr><th>{escape(row[0])}</th>{''.join(map(_cell, row[1:]))}</tr>" for row in rows]
    names = "".join(f"<li>{escape(label)}: {escape(name)}</li>" for label, name in matrix.nics)
    drawn = table(head, lines)
    return f"{drawn}\n<ul>{names}</ul>" if names else drawn


def _cell(text: str) -> str:
    kind = "nvlink" if text.startswith("NV") else CELLS.get(text)
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"
