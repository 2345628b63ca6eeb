# SPDX-License-Identifier: Apache-2.0
"""railgauge topo diff: what changed between two machines."""

from typing import Annotated

import typer

from railgauge.cli.machine_options import MACHINE_HELP, Json, SaveCapture, print_warnings, save_live
from railgauge.cli.output import document, print_json
from railgauge.topo.machine import Machine, is_same_host, load_machine
from railgauge.topo.values.printable import inline

SIDE = f"A machine: {MACHINE_HELP}."


def diff(
    a: Annotated[str, typer.Argument(metavar="BEFORE", help=SIDE)],
    b: Annotated[str, typer.Argument(metavar="AFTER", help="Another, named likewise.")],
    save: SaveCapture = None,
    as_json: Json = False,
) -> None:
    """Show what changed from one machine to another; exit status 0 if nothing did, 1 if something did.

    Examples:
        railgauge topo diff yesterday.tar.zst live
        railgauge topo diff @dgx-h100 @dgx-h100-nic-x8
    """
    from railgauge.topo.compare import diff as differences

    sources = save_live((a, b), save, {})
    before, after = (load_machine(sources[side], environment={}) for side in (a, b))
    _warn((a, before), (b, after))
    changes = differences.diff(before, after, same_host=is_same_host(before, after))
    if as_json:
        listed = [change._asdict() for change in changes]
        sides = {"before": {"source": a, "host": before.host}, "after": {"source": b, "host": after.host}}
        print_json(document("diff", after.host, **sides, changes=listed))
    else:
        print("\n".join(inline(change.message) for change in changes) or "no difference")
    if changes:
        raise typer.Exit(1)


def _warn(*sides: tuple[str, Machine]) -> None:
    """Warn on stderr of what could not be read on one side only, and that a topology file has fewer facts."""
    shared = set.intersection(*(set(machine.warnings) for _, machine in sides))
    for source, machine in sides:
        if machine.reader is None:
            print_warnings((f"{source} is a topology file: only what such files contain is compared",))
        print_warnings(tuple(f"{source}: {warning}" for warning in machine.warnings if warning not in shared))
