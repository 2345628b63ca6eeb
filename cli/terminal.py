# SPDX-License-Identifier: Apache-2.0
"""Standard output as a terminal: in colour where it is one, plain where NO_COLOR is set (no-color.org)."""

import os
from typing import Literal

from rich.console import Console


def console(width: int | None = None) -> Console:
    """A console that never wraps; NO_COLOR takes bold and dim away too, which Rich by itself would leave."""
    styles: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(highlight=False, soft_wrap=True, width=width, color_system=styles)
