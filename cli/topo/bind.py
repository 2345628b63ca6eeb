# SPDX-License-Identifier: Apache-2.0
"""railgauge topo bind: run a command on the CPUs next to its rank's GPU."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.machine_options import From, SaveCapture, TopoFile, open_machine
from railgauge.cli.streams import tell
from railgauge.topo.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from railgauge.topo.channels.binding import Binding
    from railgauge.topo.facts.sources.nvml import NvmlGpu
    from railgauge.topo.machine import Machine
    from railgauge.topo.nccl.graph.model import Node, System

VISIBLE = "CUDA_VISIBLE_DEVICES"


def bind(
    command: Annotated[list[str], typer.Argument(metavar="-- CMD", help="The command to run, and its arguments.")],
    rank: Annotated[
        int | None,
        typer.Option(
            "--rank", metavar="R", min=0, help="The rank on this node (default: as the launcher's variable says)."
        ),
    ] = None,
    memory: Annotated[bool, typer.Option("--mem", help="Also prefer the memory of the GPU's NUMA node.")] = False,
    one_gpu: Annotated[bool, typer.Option("--one-gpu", help="Show CMD its GPU only (CUDA_VISIBLE_DEVICES).")] = False,
    source: From = None,
    save: SaveCapture = None,
    topo_file: TopoFile = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the binding; run nothing.")] = False,
) -> None:
    """Run CMD on the CPUs next to its rank's GPU; the exit status is CMD's.

    Examples:
        railgauge topo bind --rank 0 --dry-run --from @dgx-h100 -- true
        mpirun -n 8 railgauge topo bind --mem -- ./train
    """
    from railgauge.topo.facts.local_rank import local_rank
    from railgauge.topo.values.spans import listed
    from railgauge.transports.placement import bind_cpus, prefer_memory, widen

    local = rank if rank is not None else local_rank(os.environ)
    before = widen()  # replaces the binding of a launcher
    setting = os.environ.get(VISIBLE)
    everything = {name: value for name, value in os.environ.items() if name != VISIBLE}
    machine = open_machine(source, topo_file=topo_file, environment=everything, save=save)
    binding = binding_of(machine, local, setting)
    tell(f"railgauge: {described(binding, local)}")
    if dry_run:
        return
    got = bind_cpus(binding.cpus or before)
    if not got.issuperset(binding.cpus):
        tell(f"railgauge: rank {local}: only CPUs {listed(sorted(got))} of these are available")
    if memory and binding.numa is not None:
        prefer_memory(binding.numa)
    if one_gpu:
        os.environ |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", VISIBLE: str(binding.gpu.dev)}
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise UnavailableError(f"cannot run {command[0]}: {error.strerror}") from error


def binding_of(machine: "Machine", local: int, setting: str | None = None) -> "Binding":
    """The binding of a rank: to the GPU with its number among the visible ones, or to the only GPU.

    `setting`: CUDA_VISIBLE_DEVICES, None if it hides none.
    """
    from railgauge.topo.channels.binding import bindings
    from railgauge.topo.facts.sources.sysfs_threads import thread_siblings

    system = machine.system
    gpus = visible_gpus(machine, system, setting)
    if not gpus:
        raise UnavailableError("no GPU to bind to: use --from or --topo-file to name a machine with GPUs")
    if local >= len(gpus) > 1:
        raise UsageError(f"rank {local} on this node has no GPU: only {len(gpus)} are visible")
    threads = thread_siblings(machine.reader, (cpu for node in machine.topology.numa for cpu in node.cpus))
    bound = bindings(machine.topology, gpus, siblings=threads, denied=machine.denied)
    return bound[local if len(bound) > 1 else 0]


def visible_gpus(machine: "Machine", system: "System", setting: str | None) -> "tuple[Node, ...]":
    """The GPUs visible to this process, in CUDA's order."""
    from railgauge.topo.nccl.settings.visible_devices import visible

    if setting is None:
        return system.ranks
    nodes = {gpu.dev: gpu for gpu in system.gpus}
    known = machine.facts.gpus if machine.facts else _as_numbered(system)
    return tuple(nodes[gpu.index] for gpu in visible(known, None, setting)[0] if gpu.index in nodes)


def _as_numbered(system: "System") -> "tuple[NvmlGpu, ...]":
    """The GPUs of a topology file by number, without UUIDs."""
    from railgauge.topo.facts.sources.nvml import NvmlGpu

    numbered = sorted((gpu.device_number, gpu.bus_id or "") for gpu in system.gpus)
    return tuple(
        NvmlGpu(bus_id=bus_id, index=index, uuid=None, sm=0, nvlinks=(), c2c=None, gdr=None)
        for index, bus_id in numbered
    )


def described(binding: "Binding", local: int) -> str:
    """The binding of a rank, in one line."""
    from railgauge.topo.values.spans import listed

    if not binding.cpus:
        return f"rank {local}: GPU{binding.gpu.dev}, not bound: its CPU affinity is unknown"
    where = "" if binding.numa is None else f" of NUMA{binding.numa}"
    return f"rank {local}: GPU{binding.gpu.dev}, CPUs {listed(binding.cpus)}{where}"
