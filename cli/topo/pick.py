# SPDX-License-Identifier: Apache-2.0
"""railgauge topo pick: the best GPUs for a job on a shared machine, and the binding of its ranks."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.json_text import json_text
from railgauge.cli.machine_options import (
    From,
    Gpus,
    Json,
    MergeNics,
    Nodes,
    NoP2p,
    SaveCapture,
    Set,
    TopoFile,
    open_machine,
    settings_in_force,
)
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import document, print_text, write_text
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.machine import Machine

if TYPE_CHECKING:
    from railgauge.topo.channels.binding import Binding
    from railgauge.topo.nccl.graph.model import Node, System
    from railgauge.topo.predict.pick import Pick


class PickFormat(StrEnum):
    """The output formats of a pick."""

    TEXT = "text"
    ENV = "env"
    RANKFILE = "rankfile"
    SLURM = "slurm"
    NUMACTL = "numactl"
    JSON = "json"


NEEDS_CPUS = (PickFormat.RANKFILE, PickFormat.SLURM, PickFormat.NUMACTL)


def pick(
    count: Annotated[
        int, typer.Option("-n", "--count", metavar="N", help="The number of GPUs that the job needs on this node.")
    ],
    busy: Annotated[
        str | None, typer.Option("--busy", metavar="LIST", help="GPUs in use: GPU3,GPU5, indices or bus ids.")
    ] = None,
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    nodes: Nodes = 1,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    settings: Set = None,
    form: Annotated[
        PickFormat, option(ANSWER, "--format", help="The format of the answer; rankfile is Open MPI's.")
    ] = PickFormat.TEXT,
    as_json: Json = False,
    output: Annotated[
        str | None, output_option("Write to FILE instead of stdout; JSON if its name ends in .json.")
    ] = None,
) -> None:
    """Pick the best GPUs for a job on a shared machine, and the CPUs, memory and NICs of each rank.

    Examples:
        railgauge topo pick -n 4 --busy GPU0,GPU3 --from @dgx-a100
        eval "$(railgauge topo pick -n 4 --format env)"
    """
    from railgauge.topo.channels.binding import bindings
    from railgauge.topo.facts.sources.sysfs_threads import thread_siblings
    from railgauge.topo.nccl.settings.steering import read_steering
    from railgauge.topo.predict.pick import pick as pick_gpus

    machine = open_machine(source, gpus, merged=merged, topo_file=topo_file, save=save)
    steering = read_steering(settings_in_force(machine, settings))
    system = machine.system
    denied = machine.denied
    found = pick_gpus(
        machine.running,
        count,
        busy=busy_gpus(system, busy),
        nodes=nodes,
        steering=steering,
        p2p=not no_p2p,
        denied=denied,
    )
    threads = thread_siblings(machine.reader, (cpu for node in machine.topology.numa for cpu in node.cpus))
    bound = bindings(machine.topology, found.best.gpus, siblings=threads, levels=steering.levels, denied=denied)
    wanted = PickFormat.JSON if as_json or (output or "").endswith(".json") else form
    text = written(wanted, found, bound, machine, system, nodes)
    if output is not None:
        write_text(output, text)
    elif wanted is PickFormat.TEXT:
        print_text(text.removesuffix("\n"))
    else:
        print(text, end="")


def busy_gpus(system: "System", names: str | None) -> list["Node"]:
    """The GPUs of a list; UsageError for anything else."""
    from railgauge.topo.nccl.graph.ends import find_end

    parts = [part.strip() for part in (names or "").split(",") if part.strip()]
    found = [find_end(system, f"GPU{part}" if part.isdecimal() else part) for part in parts]
    for part, node in zip(parts, found, strict=True):
        if node.kind != "GPU":
            raise UsageError(f"--busy {part}: {node.name or node.id} is not a GPU")
    return found


def written(
    form: PickFormat, found: "Pick", bound: "Sequence[Binding]", machine: Machine, system: "System", nodes: int
) -> str:
    """The pick in that format; UnavailableError if it needs CPUs and these are unknown."""
    from railgauge.topo.render import binding
    from railgauge.topo.render.pick import pick_document, pick_lines

    unknown = binding.unknown(bound)
    if form in NEEDS_CPUS and unknown:
        raise UnavailableError(
            f"--format {form} needs the CPU affinity of {' '.join(unknown)}, which is unknown: "
            "give a topology file with <cpu affinity> by --topo-file, or use --format env"
        )
    match form:
        case PickFormat.TEXT:
            return "\n".join([*pick_lines(found), *binding.binding_lines(bound, system.nets)]) + "\n"
        case PickFormat.ENV:
            return binding.environment(bound, system.nets)
        case PickFormat.RANKFILE:
            hosts = [machine.host or "localhost"] if nodes == 1 else [f"+n{place}" for place in range(nodes)]
            return binding.rankfile(bound, hosts)
        case PickFormat.SLURM:
            return binding.slurm(bound, nodes)
        case PickFormat.NUMACTL:
            return binding.numactl(bound)
        case PickFormat.JSON:
            return json_text(document("pick", machine.host, **pick_document(found, bound, system.nets))) + "\n"
