# SPDX-License-Identifier: Apache-2.0
"""The nodes a command works on: -w, --hostfile, or those of the Slurm allocation of this process."""

import os
from typing import TYPE_CHECKING

from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from railgauge.collectives.launch.hostfile import Host

SLURM = "SLURM_JOB_NODELIST"


def destinations(nodes: str | None, hostfile: str | None) -> dict[str, str]:
    """The ssh destination of each node, by name. Errors as in `hosts`."""
    return {host.address: host.destination for host in hosts(nodes, hostfile)}


def hosts(nodes: str | None, hostfile: str | None) -> "list[Host]":
    """The nodes, in the order given.

    UsageError if none is named, both -w and --hostfile are given, or the list is invalid; InputError for a hostfile.
    """
    from railgauge.collectives.launch.hostfile import hosts_from, load

    if nodes is not None and hostfile is not None:
        raise UsageError("-w and --hostfile both name the nodes: give one")
    listed = nodes if nodes is not None or hostfile is not None else os.environ.get(SLURM) or None
    if hostfile is not None:
        return load(hostfile)
    if listed is not None:
        return hosts_from(listed)
    raise UsageError(
        "no nodes given: use -w gpu[001-064], --hostfile FILE, --from FOLDER, or run it in a Slurm allocation"
    )
