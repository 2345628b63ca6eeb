# SPDX-License-Identifier: Apache-2.0
"""Bindings for launchers: shell variables, Open MPI's rankfile, options of srun and numactl; and as text."""

import re
import shlex
from collections.abc import Sequence

from railgauge.topo.channels.binding import Binding
from railgauge.topo.errors import InputError
from railgauge.topo.facts.local_rank import VARIABLES
from railgauge.topo.nccl.graph.model import Node
from railgauge.topo.values.node_names import NAME
from railgauge.topo.values.spans import listed

PORT = re.compile(r"[A-Za-z0-9_.@:-]+")
LAUNCHERS_NODE = re.compile(r"\+n[0-9]+")


def _ports(nets: Sequence[Node], all_nets: Sequence[Node]) -> str:
    """The NICs as a list for a shell. InputError for an invalid name."""
    names = dict.fromkeys(port_names([net for net in nets if net.name], all_nets))
    for name in names:
        if not PORT.fullmatch(name):
            raise InputError(f"{name[:100]!r} is not a valid NIC name")
    return shlex.quote(",".join(names)) if names else ""


def port_names(nets: Sequence[Node], all_nets: Sequence[Node]) -> list[str]:
    """NICs as UCX and NCCL_IB_HCA name them: mlx5_0:1 for an RDMA port, eth0 for an interface.

    NCCL numbers ports through the functions of a card, so a device's own number is the port's place among those of
    that name. A NIC of merged ports is all of them.
    """
    ports = sorted({(net.name or "?", net.port or 0) for net in all_nets})
    names = []
    for net in nets:
        for name in (net.name or "?").split("+"):
            own = [port for other, port in ports if other == (net.name or "?")]
            names.append(f"{name}:{own.index(net.port or 0) + 1}" if net.port else name)
    return names


def binding_lines(bindings: Sequence[Binding], all_nets: Sequence[Node]) -> list[str]:
    """A line a rank: GPU, NUMA node, CPUs and NICs."""
    return [
        f"  rank {b.rank:<3} GPU{b.gpu.dev:<3} {_numa(b):<8} CPUs {listed(b.cpus) or 'unknown':<20} "
        f"NICs {','.join(port_names(b.nets, all_nets)) or 'none'}"
        for b in bindings
    ]


def _numa(binding: Binding) -> str:
    return "NUMA ?" if binding.numa is None else f"NUMA {binding.numa}"


def environment(bindings: Sequence[Binding], all_nets: Sequence[Node]) -> str:
    """A shell script to source or eval: the job's GPUs, and within a rank that rank's CPUs and NICs.

    Raises:
        InputError: the name of a NIC is invalid.
    """
    lines = [
        f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={_devices(bindings)}",
        f'case "{_local_rank()}" in',
    ]
    for b in bindings:
        ports = _ports(b.nets, all_nets)
        words = [f"RAILGAUGE_CPUS={listed(b.cpus)}"] if b.cpus else []
        words += [f"RAILGAUGE_NUMA={b.numa}"] if b.numa is not None else []
        words += [f"UCX_NET_DEVICES={ports}"] if ports else []
        lines.append(f"{b.rank}) {'export ' + ' '.join(words) if words else ':'} ;; # GPU{b.gpu.dev}")
    names = _ports([net for b in bindings for net in b.nets if net.port], all_nets)
    lines.append("esac")
    if names:
        lines.append("# NCCL finds these NICs itself; to exclude all others:")
        lines.append(f"# export NCCL_IB_HCA=={names}")
    return "\n".join(lines) + "\n"


def _local_rank() -> str:
    """Shell for the first of the launchers' variables that is set."""
    return "".join(f"${{{name}:-" for name in VARIABLES) + "}" * len(VARIABLES)


def _devices(bindings: Sequence[Binding]) -> str:
    return ",".join(str(b.gpu.dev) for b in bindings)


def rankfile(bindings: Sequence[Binding], hosts: Sequence[str]) -> str:
    """Open MPI's rankfile (4.1 and 5): the cores of each rank by hwloc's logical number, host after host.

    Only for bindings with known CPUs (`unknown`), as srun's options and numactl's are.

    Raises:
        InputError: the name of a host is invalid.
    """
    lines = []
    for host in hosts:
        if not (NAME.fullmatch(host) or LAUNCHERS_NODE.fullmatch(host)):
            raise InputError(f"{host[:100]!r} is not a valid host name")
    for place, host in enumerate(hosts):
        for b in bindings:
            rank = place * len(bindings) + b.rank
            lines.append(f"rank {rank}={host} slot={listed(b.cores)}")
    return "\n".join(lines) + "\n"


def slurm(bindings: Sequence[Binding], nodes: int) -> str:
    """Options of srun: a mask of CPUs and a GPU for each task of a node."""
    masks = ",".join(f"0x{sum(1 << cpu for cpu in b.cpus):x}" for b in bindings)
    tasks = f"--nodes={nodes} --ntasks-per-node={len(bindings)}"
    return f"{tasks} --cpu-bind=mask_cpu:{masks} --gpu-bind=map_gpu:{_devices(bindings)}\n"


def numactl(bindings: Sequence[Binding]) -> str:
    """The prefix for the command of each rank, a line a rank."""
    return "".join(f"numactl --physcpubind={listed(b.cpus)}{_memory(b)} # rank {b.rank}\n" for b in bindings)


def _memory(binding: Binding) -> str:
    return "" if binding.numa is None else f" --preferred={binding.numa}"


def unknown(bindings: Sequence[Binding]) -> list[str]:
    """The GPUs with unknown CPUs."""
    return [f"GPU{b.gpu.dev}" for b in bindings if not b.cpus]
