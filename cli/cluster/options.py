# SPDX-License-Identifier: Apache-2.0
"""Options for the nodes of a command, live or from a folder, and for the folder that keeps their files."""

from typing import Annotated

import typer

Nodes = Annotated[str | None, typer.Option("-w", "--nodes", metavar="NODES", help="The nodes: gpu[001-064],login1.")]
Hostfile = Annotated[
    str | None, typer.Option("--hostfile", metavar="FILE", help="The nodes of an Open MPI or MPICH hostfile.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FOLDER", help="Read NODE.tar.zst and NODE.xml from this folder."),
]
Collector = Annotated[
    bool,
    typer.Option(
        "--ssh-collector", help="Send a collector to the nodes, which then need Python 3.10 or newer and no railgauge."
    ),
]
Reports = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER|FILE",
        help="Keep the nodes' files in FOLDER; or write .html, .prom, .csv, .json; repeatable.",
    ),
]
Kept = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FOLDER", help="Keep the files of the nodes as FOLDER/NODE.tar.zst."),
]
