# SPDX-License-Identifier: Apache-2.0
"""The architecture of an AMD GPU by its name."""

from railgauge.topo.values.printable import inline


def gfx_name(gcn: str | None) -> str | None:
    """RCCL's name of a GPU's architecture: "gfx942"; older files have a number, 908, or HIP's 910 for gfx90a."""
    return inline(gcn if gcn.startswith("gfx") else f"gfx{'90a' if gcn == '910' else gcn}") if gcn else None
