# SPDX-License-Identifier: Apache-2.0
"""railgauge explain: what a finding is, how it shows, how to be sure, and how to fix it; all findings without an id."""

from typing import Annotated

import typer

from railgauge.cli.help.command import app_of
from railgauge.cli.output import print_text, terminal_width
from railgauge.topo.errors import UsageError


def explain(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="A finding's id, such as ib-port-down (default: list all).")
    ] = None,
) -> None:
    """Explain a finding: what it is, how it shows, how to be sure, how to fix it; without an id, list all by area.

    Examples:
        railgauge explain
        railgauge explain pcie-link-degraded
    """
    from railgauge.topo.findings.card import cards
    from railgauge.topo.render.card import COLUMNS, card_list, card_text
    from railgauge.topo.values.near import did_you_mean

    columns = terminal_width() or COLUMNS
    if name is None:
        print_text(card_list(columns))
        return
    if name not in cards():
        raise UsageError(f"unknown finding {name!r}{did_you_mean(name, cards())}; `railgauge explain` lists all")
    print_text(card_text(cards()[name], columns))


app = app_of(explain)
