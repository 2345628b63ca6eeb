# SPDX-License-Identifier: Apache-2.0
"""railgauge topo diff: what changed between two machines."""

from typing import Annotated

import typer

from railgauge.cli.machine_options import Json, print_warnings, source_of
from railgauge.cli.output import document, print_json
from railgauge.topo.machine import Machine, is_same_host, load_machine
from railgauge.topo.values.printable import inline

SIDE = "A capture, a topology XML, @fixture, a folder with sys/ in it, or `live`."


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", help=SIDE)],
    as_json: Json = False,
) -> None:
    """Say what changed from A to B; the exit status is 0 when nothing did, 1 when something did."""
    from railgauge.topo.compare import diff as differences

    before, after = (load_machine(source_of(side), environment={}) for side in (a, b))
    _warn((a, before), (b, after))
    changes = differences.diff(before, after, same_host=is_same_host(before, after))
    if as_json:
        listed = [{name: getattr(change, name) for name in change.__slots__} for change in changes]
        sides = {"before": {"source": a, "host": before.host}, "after": {"source": b, "host": after.host}}
        print_json(document("diff", after.host, **sides, changes=listed))
    else:
        print("\n".join(inline(change.message) for change in changes) or "no difference")
    if changes:
        raise typer.Exit(1)


def _warn(*sides: tuple[str, Machine]) -> None:
    """Say on stderr what could not be learnt about one side only, and that a file tells less than a machine."""
    shared = set.intersection(*(set(machine.warnings) for _, machine in sides))
    for source, machine in sides:
        if machine.reader is None:
            print_warnings((f"{source}: a topology file, so only what such files tell is compared",))
        print_warnings(tuple(f"{source}: {warning}" for warning in machine.warnings if warning not in shared))
