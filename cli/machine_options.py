# SPDX-License-Identifier: Apache-2.0
"""Options shared by every command that reads a machine, and the Machine and System they select."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER, MACHINE
from railgauge.cli.streams import tell
from railgauge.topo.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from railgauge.topo.facts.capture import Capture
    from railgauge.topo.facts.named_source import Source
    from railgauge.topo.machine import Machine
    from railgauge.topo.nccl.graph.model import System


class DeviceChoice(StrEnum):
    """Where ranks keep their data."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Ids(StrEnum):
    """How text names devices."""

    NAMES = "names"
    NCCL = "nccl"


def check_capture_name(path: str | None) -> str | None:
    """The name of --save-capture, before anything is read. UsageError for one that is not an archive's."""
    if path is not None:
        from railgauge.topo.machine import capture_suffix

        capture_suffix(path)
    return path


def source_of(name: str) -> str | None:
    """The source that `load_machine` takes: None for `live`, else the name."""
    return None if name == LIVE else name


def one_machine(names: list[str] | None) -> list[str] | None:
    """What one or more --from name: None for this machine. UsageError for `live` beside others."""
    if names and LIVE in names and len(names) > 1:
        raise UsageError(f"--from {LIVE}: give it alone; several --from are outputs of one host")
    return None if not names or names == [LIVE] else names


def name_of(source: "Source") -> str:
    """What headings call a machine without a host name: its file, or the first of several."""
    if source is None:
        return "this machine"
    names = [source] if isinstance(source, str) else source if isinstance(source, Sequence) else ["a capture"]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{os.path.basename(names[0].rstrip('/'))}{more}"


LIVE = "live"
"""Names this machine wherever a machine is named."""
MACHINE_HELP = "live (this one), @fixture, capture, machine.toml, topology XML or a folder with sys/ in it"
PASTED_HELP = "or output of nvidia-smi, lspci, hwloc, ibstat and others (repeatable: of one host)"

From = Annotated[
    list[str] | None,
    option(
        MACHINE, "--from", metavar="MACHINE", callback=one_machine, help=f"The machine: {MACHINE_HELP}, {PASTED_HELP}."
    ),
]
OtherMachine = Annotated[
    list[str] | None,
    option(MACHINE, "--from", metavar="MACHINE", help=f"The machine to compare with: {MACHINE_HELP}, {PASTED_HELP}."),
]
SaveCapture = Annotated[
    str | None,
    option(
        ANSWER,
        "--save-capture",
        metavar="FILE",
        callback=check_capture_name,
        help="Save the data behind the answer; --from FILE replays it.",
    ),
]
Gpus = Annotated[
    str | None, option(MACHINE, "--gpus", metavar="LIST", help="Use these GPUs only, by NVML index, e.g. 0,2.")
]
TopoFile = Annotated[
    str | None,
    option(MACHINE, "--topo-file", metavar="FILE", help="Start from this topology XML, as NCCL_TOPO_FILE does."),
]
Ranks = Annotated[
    int | None, option(MACHINE, "--ranks", metavar="N", help="Plan N ranks in host memory, with --device cpu.")
]
DeviceOption = Annotated[
    DeviceChoice, option(MACHINE, "--device", help="Where ranks keep their data: cpu is host memory, cuda is GPUs.")
]
Nodes = Annotated[int, option(MACHINE, "--nodes", metavar="N", min=1, help="Plan N equal nodes.")]
NoP2p = Annotated[bool, option(MACHINE, "--no-p2p", help="Assume no peer access between GPUs.")]
MergeNics = Annotated[bool, option(MACHINE, "--merge-nics", help="Count the ports of a card as one NIC.")]
Set = Annotated[
    list[str] | None,
    option(MACHINE, "--set", metavar="NAME=VALUE", help="Use this NCCL setting, e.g. NCCL_P2P_LEVEL=SYS; repeatable."),
]
IdsOption = Annotated[
    Ids,
    option(
        ANSWER,
        "--ids",
        help="What text calls a device: names is GPU0, mlx5_0, NUMA0 or a bus id; nccl is NCCL's id, e.g. GPU/0-1b000.",
    ),
]
Json = Annotated[bool, option(ANSWER, "--json", help="Print one JSON document on stdout.")]


def output(help_text: str) -> Any:
    """The option that names a file for the answer."""
    return option(ANSWER, "-o", "--output", metavar="FILE", help=help_text)


def open_machine(
    source: "Source",
    gpus: str | None = None,
    *,
    merged: bool = False,
    topo_file: str | None = None,
    environment: Mapping[str, str] = os.environ,
    save: str | None = None,
    later: bool = False,
    tolerant: bool = False,
    dmesg: str | None = None,
    graph: str | None = None,
) -> "Machine":
    """Load the machine (`merged`: a card's ports are one NIC) and warn on stderr of what could not be read.

    `graph`: a graph file for it; where that names NICs of merged ports, the ports are merged.

    `save`: a capture that is written first; the answer is then that of the capture. `later`: with the second reading of
    counters. `tolerant`, `dmesg`: see load_machine.
    """
    from railgauge.topo.machine import load_machine

    machine = load_machine(
        source if save is None else _saved(save, source, environment, later=later, dmesg=dmesg),
        gpus=gpu_list(gpus),
        topo_file=topo_file,
        environment=environment,
        tolerant=tolerant,
        dmesg=dmesg if save is None else None,
    )
    if merged:
        from railgauge.topo.nccl.detect.merged_nics import merge_nics

        machine = replace(machine, topology=merge_nics(machine.topology))
    elif graph is not None:
        machine = _merged_as_in(graph, machine)
    print_warnings(machine.warnings)
    return machine


def _merged_as_in(graph: str, machine: "Machine") -> "Machine":
    """The machine, with merged ports where the graph file names NICs of them."""
    from railgauge.topo.channels.merged_ports import merged_for
    from railgauge.topo.files.input_file import STDIN

    topology = merged_for(graph, machine.topology) if graph != STDIN else None
    if topology is None:
        return machine
    tell(f"railgauge: {graph} names NICs of merged ports: --merge-nics is assumed")
    return replace(machine, topology=topology)


def save_live(names: Iterable[str], save: str | None, environment: Mapping[str, str]) -> "dict[str, Source]":
    """The source of each named machine; with `save` this machine, named `live`, is read once and written to that file.

    UsageError if none of them is this machine.
    """
    named = dict.fromkeys(names)
    if save is not None and LIVE not in named:
        raise UsageError("--save-capture saves this machine: name it, as `live`, or leave the option out")
    here = _saved(save, None, environment) if save is not None else None
    return {name: here if name == LIVE else name for name in named}


def _saved(
    path: str, source: "Source", environment: Mapping[str, str], *, later: bool = False, dmesg: str | None = None
) -> "Capture":
    """The machine as a capture, which is written to the path."""
    from railgauge.topo.machine import saved

    capture = saved(path, source, environment, later=later, dmesg=dmesg)
    tell(f"railgauge: wrote {path}")
    return capture


def print_warnings(warnings: tuple[str, ...]) -> None:
    """Print warnings on stderr."""
    for warning in warnings:
        tell(f"railgauge: {warning}")


def gpu_list(text: str | None) -> tuple[int, ...] | None:
    """The indices of --gpus; UsageError if one is no number or repeated."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all((part.isdecimal() and len(part) < 9) for part in parts) or len(set(parts)) != len(parts):
        raise UsageError(f"--gpus {text!r}: list each index once, e.g. 0,2")
    return tuple(int(part) for part in parts)


def open_system(machine: "Machine", ranks: int | None, device: DeviceChoice) -> "System":
    """The System with the ranks that --ranks and --device ask for.

    UsageError if they contradict the machine, UnavailableError for --device cuda without a GPU.
    """
    from railgauge.topo.nccl.graph.system import build_system

    gpus = len(machine.topology.gpus)
    if device is DeviceChoice.CPU and ranks is None:
        raise UsageError("--device cpu requires --ranks N, the number of host ranks")
    if device is DeviceChoice.CPU or (device is DeviceChoice.AUTO and ranks is not None and gpus == 0):
        return build_system(machine.running, host_ranks=ranks)
    if device is DeviceChoice.CUDA and gpus == 0:
        raise UnavailableError("--device cuda: no GPU found; use --device cpu --ranks N to plan host ranks")
    if ranks is not None and ranks != gpus:
        raise UsageError(
            f"--ranks {ranks}: the machine has {gpus} GPUs, one rank each; use --device cpu to plan host ranks"
        )
    return machine.system


def link_names(system: "System", ids: Ids) -> "Mapping[str, str]":
    """What text calls the nodes of a System, by NCCL's id; none with --ids nccl."""
    from railgauge.topo.nccl.graph.ends import text_names

    return text_names(system, cards=True) if ids is Ids.NAMES else {}


def settings_in_force(
    machine: "Machine", settings: list[str] | None, names: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The settings of NCCL that count, named on stderr: --set, and those that the machine is looked at under.

    `names`: settings that the command reads (default: all that steer channels).
    """
    from railgauge.topo.nccl.settings.steering import MEANING, in_force, parse_settings

    known = MEANING if names is None else names
    chosen = parse_settings(settings or [], known)
    found = {**machine.environment, **chosen}
    for line in in_force(found, known):
        tell(f"railgauge: {line}")
    return found
