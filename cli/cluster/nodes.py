# SPDX-License-Identifier: Apache-2.0
"""Which nodes are meant: -w, --hostfile, or those of the Slurm allocation that this process is in."""

import os
from typing import TYPE_CHECKING

from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from railgauge.collectives.launch.hostfile import Host

SLURM = "SLURM_JOB_NODELIST"


def destinations(nodes: str | None, hostfile: str | None) -> dict[str, str]:
    """What ssh is given for each node, by the node's name. Errors are those of `hosts`."""
    return {host.address: host.destination for host in hosts(nodes, hostfile)}


def hosts(nodes: str | None, hostfile: str | None) -> "list[Host]":
    """The nodes, in the order in which they are named.

    UsageError when no node is named or in two ways, or for a list that is none; InputError for a hostfile.
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
        "which nodes? -w gpu[001-064], --hostfile FILE, --from FOLDER with captures, or within a Slurm allocation"
    )
