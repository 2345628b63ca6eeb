# SPDX-License-Identifier: Apache-2.0
"""Options that say which nodes a command looks at, live or from a folder, and where what they gave is kept."""

from typing import Annotated

import typer

Nodes = Annotated[str | None, typer.Option("-w", "--nodes", metavar="NODES", help="These nodes: gpu[001-064],login1.")]
Hostfile = Annotated[
    str | None, typer.Option("--hostfile", metavar="FILE", help="The nodes of a hostfile of Open MPI or MPICH.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FOLDER", help="Ask no node: read NODE.tar.zst and NODE.xml in this folder."),
]
Kept = Annotated[
    str | None, typer.Option("-o", metavar="FOLDER", help="Keep what the nodes gave as FOLDER/NODE.tar.zst.")
]
