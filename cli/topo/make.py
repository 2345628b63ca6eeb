# SPDX-License-Identifier: Apache-2.0
"""railgauge topo make: the topology file of a virtual machine, from its host."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.help.command import option
from railgauge.cli.help.page import MACHINE
from railgauge.cli.machine_options import MACHINE_HELP, SaveCapture, print_warnings, save_live
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import write_text

if TYPE_CHECKING:
    from railgauge.topo.machine import Machine
    from railgauge.topo.vm.make import Made


def make(
    host: Annotated[str, option(MACHINE, "--host", metavar="MACHINE", help=f"The host: {MACHINE_HELP}.")],
    guest: Annotated[str, option(MACHINE, "--guest", metavar="MACHINE", help="The VM, named likewise.")],
    pairs: Annotated[
        list[str] | None,
        typer.Option("--match", metavar="VM=HOST", help="Bus ids of a device in the VM and on the host; repeatable."),
    ] = None,
    cpu_map: Annotated[
        list[str] | None,
        typer.Option("--cpu-map", metavar="NODE=CORES", help="Cores of the VM on a NUMA node of the host; repeatable."),
    ] = None,
    save: SaveCapture = None,
    output: Annotated[str | None, output_option("Write to FILE instead of stdout.")] = None,
) -> None:
    """Make the NCCL_TOPO_FILE of a virtual machine: the host's PCI tree with the VM's bus ids.

    Examples:
        railgauge topo make --host host.tar.zst --guest live -o topo.xml
    """
    from railgauge.topo.machine import load_machine
    from railgauge.topo.vm.make import make as made_of
    from railgauge.topo.vm.remarks import remarks

    sources = save_live((host, guest), save, {})
    there, here = (load_machine(sources[side], environment={}) for side in (host, guest))
    made = made_of(there, here, pairs or (), cpu_map or ())
    print_warnings((*remarks(made, there, here), *_trial(made, here)))
    if output is not None:
        write_text(output, made.text)
    else:
        print(made.text, end="")


def _trial(made: "Made", guest: "Machine") -> tuple[str, ...]:
    """Check the file with the linter, and with NCCL's rules on the VM."""
    from railgauge.topo.vm.trial import faults, reach, tried

    found = tuple(f"{fault.level}: {fault.id}: {fault.message}" for fault in faults(made))
    if guest.reader is None:
        return (*found, "--guest is a topology file: give a capture of the VM to try the result on it")
    before, after = reach(guest.topology), reach(tried(made, guest.reader))
    return (*found, f"paths between GPUs and NICs: {_text(before)} -> {_text(after)}") if before else found


def _text(reach: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in reach.items())
