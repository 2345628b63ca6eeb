# SPDX-License-Identifier: Apache-2.0
"""Text inside HTML and SVG: neither an element nor the end of an attribute, and no control character."""

from html import escape as without_markup

from railgauge.topo.values.printable import printable


def escape(text: str) -> str:
    """A text as it stands between tags."""
    return without_markup(printable(text), quote=False)


def quoted(text: str) -> str:
    """An attribute's value in its quotes."""
    return f'"{without_markup(printable(text))}"'
