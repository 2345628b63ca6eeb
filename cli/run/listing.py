# SPDX-License-Identifier: Apache-2.0
"""`railgauge run --list`: which collectives, types and operators run on which devices and transports of this machine,
and what is missing for the rest; as tables, or one document (railgauge/list/1).
"""

import socket
from typing import Any

from rich.table import Table
from rich.text import Text

from railgauge.cli.output import document, print_json
from railgauge.cli.terminal import console
from railgauge.collectives.device import Device, why_no_gpu
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.support import Support, reductions, supported
from railgauge.topo.render.palette import Ink
from railgauge.transports.available import Available, available

WIDEST = 200  # characters of a line: a table that is cut to the terminal cannot be read
YES, NO = Text("yes", style=Ink.GOOD), Text("no", style=Ink.BAD)
UNUSED = Text("-", style=Ink.QUIET)


def list_all(*, as_json: bool) -> int:
    """Print the list; the exit status is 0, whatever is missing."""
    transports = available()
    found, reduced = supported(transports), reductions()
    if as_json:
        print_json(list_document(transports, found, reduced))
    else:
        _print(transports, found, reduced)
    return 0


def list_document(
    transports: list[Available], found: list[Support], reduced: dict[Dtype, list[Redop]]
) -> dict[str, Any]:
    """The document railgauge/list/1."""
    return document(
        "list",
        socket.gethostname(),
        devices=[{"device": Device.CPU, "why_not": None}, {"device": Device.CUDA, "why_not": why_no_gpu()}],
        transports=[{"transport": one.name, "why_not": one.why_not, "by": list(one.by)} for one in transports],
        dtypes=[
            {"dtype": dtype.label, "bytes": dtype.bytes, "redops": [op.label for op in ops]}
            for dtype, ops in reduced.items()
        ],
        collectives=[
            {
                "collective": one.collective,
                "device": one.device,
                "transport": one.transport,
                "works": one.why_not is None,
                "why_not": one.why_not,
                "algorithms": list(one.algorithms),
                "reduces": one.reduces,
                "rooted": one.rooted,
                "in_place": one.in_place,
            }
            for one in found
        ],
    )


def _print(transports: list[Available], found: list[Support], reduced: dict[Dtype, list[Redop]]) -> None:
    out = console(WIDEST)
    for table in (_collectives(found), _how(found), _dtypes(reduced)):
        out.print(table)
    out.print("\nDevices and transports", style=Ink.HEADING)
    out.print(f"{Device.CUDA}: {why_no_gpu() or 'works'}")
    for one in transports:
        out.print(f"{one.name}: {one.why_not or ', '.join(one.by) or 'works'}")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style=Ink.HEADING, box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _collectives(found: list[Support]) -> Table:
    """Every collective over every transport, as in PyTorch's table of back ends."""
    columns = list(dict.fromkeys((one.device, one.transport) for one in found))
    cells = {(one.collective, one.device, one.transport): NO if one.why_not else YES for one in found}
    table = _table("What runs here", "", *(f"{device}\n{transport}" for device, transport in columns))
    for collective in dict.fromkeys(one.collective for one in found):
        table.add_row(collective, *(cells[collective, *column] for column in columns))
    return table


def _how(found: list[Support]) -> Table:
    """The algorithms of each collective on the transports that work."""
    working = [one for one in found if not one.why_not]
    columns = list(dict.fromkeys((one.device, one.transport) for one in working))
    algorithms = {(one.collective, one.device, one.transport): ", ".join(one.algorithms) for one in working}
    names = (f"algorithms, {device}\n{transport}" for device, transport in columns)
    table = _table("\nHow", "", "in\nplace", "a\nroot", "an\noperator", *names)
    for collective, one in {one.collective: one for one in working}.items():
        traits = (YES if trait else UNUSED for trait in (one.in_place, one.rooted, one.reduces))
        table.add_row(collective, *traits, *(algorithms.get((collective, *column), UNUSED) for column in columns))
    return table


def _dtypes(reduced: dict[Dtype, list[Redop]]) -> Table:
    table = _table("\nTypes and the operators that reduce them", "", "bytes", *(op.label for op in Redop))
    for dtype, ops in reduced.items():
        table.add_row(dtype.label, str(dtype.bytes), *(YES if op in ops else NO for op in Redop))
    return table
