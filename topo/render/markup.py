# SPDX-License-Identifier: Apache-2.0
"""HTML and SVG: texts made safe in them, and what all pages and all pictures have in common.

Both are self-contained: no script, nothing loaded. SVG gets its colours as plain values in two style blocks, since not
every viewer knows CSS variables.
"""

from collections.abc import Iterable, Sequence
from html import escape as without_markup

from railgauge.topo.render import palette
from railgauge.topo.render.palette import Colour
from railgauge.topo.values.printable import printable

SANS = 'ui-sans-serif, system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif'
MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'
Paint = tuple[str, str, Colour]
"""A CSS selector, a property, and its colour."""

VARIABLES = {
    "text": palette.TEXT,
    "quiet": palette.QUIET,
    "page": palette.PAGE,
    "rule": palette.RULE,
    "wrong": palette.WRONG,
}
STYLE = """\
body { font: 14px/1.5 ui-sans-serif, system-ui, "Segoe UI", Arial, sans-serif; margin: 2rem auto; padding: 0 1rem;
  max-width: 110rem; color: var(--text); background: var(--page) }
figure, .scroll { margin: 0; overflow-x: auto }
figure svg { max-width: 100%; height: auto; min-width: min(100%, 60rem) }
section { max-width: 100% }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem .75rem; border-bottom: 1px solid var(--rule); white-space: nowrap }
thead th { color: var(--quiet); font-weight: 600 }
.wrong { color: var(--wrong) }
pre { font: 12px/1.4 ui-monospace, Menlo, Consolas, monospace; color: var(--quiet) }"""


def escape(text: str) -> str:
    """A text between tags: it opens no element and holds no control character."""
    return without_markup(printable(text), quote=False)


def quoted(text: str) -> str:
    """An attribute's value in its quotes, which it cannot end."""
    return f'"{without_markup(printable(text))}"'


def page(title: str, body: Iterable[str], style: str = "") -> str:
    """An HTML document; `style` is CSS beyond that of all pages."""
    light, dark = ("; ".join(f"--{name}: {each[way]}" for name, each in VARIABLES.items()) for way in (0, 1))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            "<style>",
            f":root {{ color-scheme: light dark; {light} }}",
            f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}",
            STYLE,
            *([style] if style else []),
            "</style></head>",
            "<body>",
            *body,
            "</body></html>\n",
        ]
    )


def section(title: str, body: str) -> str:
    """A part of a page with its heading; "" for an empty one."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def table(head: Sequence[str], rows: Iterable[str]) -> str:
    """A table; `rows` are its <tr> elements."""
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "\n".join(rows)
    return f'<div class="scroll"><table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def themed(paint: Sequence[Paint]) -> str:
    """CSS rules of the light colours, and of the dark ones where the reader wants these."""
    light, dark = ("\n".join(f"{where} {{ {what}: {each[way]} }}" for where, what, each in paint) for way in (0, 1))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def picture(size: tuple[float, float], title: str, description: str, style: str, body: Iterable[str]) -> str:
    """An SVG 1.1 document of `size` pixels (width, height) on a page of its own colour."""
    width, height = map(px, size)
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="desc">{escape(description)}</desc>',
            f"<style>\n{style}\n</style>",
            '<rect class="page" width="100%" height="100%"/>',
            *body,
            "</svg>\n",
        ]
    )


def px(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")
