# SPDX-License-Identifier: Apache-2.0
"""railgauge explain: what a finding is, how it shows, how to be sure, and how to fix it."""

from typing import Annotated

import typer

from railgauge.cli.machine_options import HELP_OPTIONS
from railgauge.topo.errors import UsageError

app = typer.Typer(add_completion=False, context_settings=HELP_OPTIONS)


@app.command()
def explain(name: Annotated[str, typer.Argument(metavar="ID", help="A finding's id, such as ib-port-down.")]) -> None:
    """Explain a finding: what it is, how it shows, how to be sure, how to fix it."""
    from railgauge.topo.findings.card import cards
    from railgauge.topo.render.card import card_text

    if name not in cards():
        raise UsageError(f"unknown finding {name!r}; use one of: {', '.join(cards())}")
    print(card_text(cards()[name]))
