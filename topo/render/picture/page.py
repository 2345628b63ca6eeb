# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a machine: the picture, the matrix, tables of its devices, and what is wrong or unknown.

With findings it is the report of `check`.

It is self-contained: no script, nothing loaded.
"""

from collections.abc import Sequence

from railgauge.topo.findings.finding import Finding
from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.render.markup import escape
from railgauge.topo.render.matrix import Matrix
from railgauge.topo.render.picture import findings as found
from railgauge.topo.render.picture import svg
from railgauge.topo.render.picture.layout import lay_out
from railgauge.topo.render.picture.parts import PROBLEM, Part, Picture

LIGHT = "--text: #1f2328; --quiet: #59636e; --page: #ffffff; --rule: #d8dee4; --wrong: #c0141f"
LIGHT_CELLS = "--nvlink: #e3f4da; --switch: #dcf0f8; --far: #fbf0dc"
DARK = "--text: #e6edf3; --quiet: #9aa6b2; --page: #0d1117; --rule: #2a323d; --wrong: #ff7b72"
DARK_CELLS = "--nvlink: #15301a; --switch: #0f2d3d; --far: #33270f"
STYLE = f"""\
:root {{ color-scheme: light dark; {LIGHT}; {LIGHT_CELLS} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK}; {DARK_CELLS} }} }}
body {{ font: 14px/1.5 ui-sans-serif, system-ui, "Segoe UI", Arial, sans-serif; margin: 2rem auto; padding: 0 1rem;
  max-width: 110rem; color: var(--text); background: var(--page) }}
figure, .scroll {{ margin: 0; overflow-x: auto }}
figure svg {{ max-width: 100%; height: auto; min-width: min(100%, 60rem) }}
.tables {{ display: flex; flex-wrap: wrap; gap: 0 4rem; align-items: flex-start }}
section {{ max-width: 100% }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 .5rem }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
th, td {{ text-align: left; padding: .25rem .75rem; border-bottom: 1px solid var(--rule); white-space: nowrap }}
thead th {{ color: var(--quiet); font-weight: 600 }}
.wrong {{ color: var(--wrong) }}
.nvlink {{ background: var(--nvlink) }}
.switch {{ background: var(--switch) }}
.far {{ background: var(--far) }}
pre {{ font: 12px/1.4 ui-monospace, Menlo, Consolas, monospace; color: var(--quiet) }}"""
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
) -> str:
    """The page; `warnings` are what could not be learnt about the machine, `findings` what a check says of it, `gone`
    what its baseline had.
    """
    parts = picture.parts()
    tables = (_section(title, _devices(parts, kind)) for kind, title in TABLES)
    body = (
        f"<figure>\n{svg.dumps(lay_out(picture))}</figure>",
        _section("Findings", found.html(findings)),
        _section("Gone since the baseline", found.html(gone)),
        _section("What is wrong or unknown", _warnings(parts, warnings)),
        f'<div class="tables">{"".join(tables)}</div>',
        _section("Who reaches whom", f"{_matrix(matrix)}<pre>{escape(matrix.legend)}</pre>"),
    )
    return _page(picture.title, f"{STYLE}\n{found.STYLE}" if findings else STYLE, body)


def without_picture(title: str, findings: Sequence[Finding], gone: Sequence[Finding] = ()) -> str:
    """The findings alone, about a machine of which no model can be made."""
    sections = (_section("Findings", found.html(findings)), _section("Gone since the baseline", found.html(gone)))
    body = (f"<h1>{escape(title)}</h1>", *sections)
    return _page(title, f"{STYLE}\n{found.STYLE}", body)


def _page(title: str, style: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>\n<style>\n{style}\n</style></head>",
            "<body>",
            *body,
            "</body></html>\n",
        ]
    )


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def _warnings(parts: Sequence[Part], warnings: Sequence[str]) -> str:
    bad = [f"{part.title} {part.id}: {fault}" for part in parts for fault in part.faults]
    lines = [f'<li class="wrong">{escape(text)}</li>' for text in bad] + [
        f"<li>{escape(text)}</li>" for text in warnings
    ]
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def _devices(parts: Sequence[Part], kind: NodeKind) -> str:
    """A table of one kind, a column for each fact that any of them has."""
    rows = [part for part in parts if part.kind is kind]
    columns = list(dict.fromkeys(what for part in rows for what, _ in part.facts))
    return _table(("", *columns), [_device(part, columns) for part in rows]) if rows else ""


def _table(head: Sequence[str], lines: Sequence[str]) -> str:
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _device(part: Part, columns: list[str]) -> str:
    cells = []
    for column in columns:
        text = "<br>".join(escape(text) for what, text in part.facts if what == column)
        cells.append(f'<td class="wrong">{text}</td>' if column == PROBLEM else f"<td>{text}</td>")
    return f"<tr><th>{escape(part.title)}</th>{''.join(cells)}</tr>"


def _matrix(matrix: Matrix) -> str:
    head, *rows = matrix.rows
    lines = [f"<tr><th>{escape(row[0])}</th>{''.join(map(_cell, row[1:]))}</tr>" for row in rows]
    names = "".join(f"<li>{escape(label)}: {escape(name)}</li>" for label, name in matrix.nics)
    table = _table(head, lines)
    return f"{table}\n<ul>{names}</ul>" if names else table


def _cell(text: str) -> str:
    kind = "nvlink" if text.startswith("NV") else CELLS.get(text)
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"
