# SPDX-License-Identifier: Apache-2.0
"""--expect: what nodes should have."""

from typing import Annotated

import typer

Expect = Annotated[
    list[str] | None,
    typer.Option(
        "--expect",
        metavar="WHAT",
        help="gpus=8,nics=8,nvlinks=18,...; a site's profile (FILE), or a shipped one by name. Repeatable.",
    ),
]
