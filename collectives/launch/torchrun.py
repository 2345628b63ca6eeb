# SPDX-License-Identifier: Apache-2.0
"""The torchrun launcher: one torchrun on each host, whose agents use the first host for rendezvous; ranks use their
store.

torchrun cannot start processes on other hosts: for several, `commands` has one command for each, to be run there.
"""

import os

from railgauge.collectives.launch.launch import (
    Ended,
    Launch,
    environment,
    program,
    rank_command,
    run_command,
    variables_of,
)
from railgauge.topo.errors import UsageError

PORT = 29500
"""The agents' rendezvous port unless MASTER_PORT is set: torchrun's own default."""


def commands(launch: Launch) -> list[list[str]]:
    """The torchrun of each host, in the order of the hosts.

    Raises:
        UnavailableError: torchrun is not installed.
        UsageError: -x is invalid, or the hosts have different numbers of slots.
    """
    torchrun, variables = program("torchrun"), [f"{name}={value}" for name, value in variables_of(launch).items()]
    started = [*(["env", *variables] if variables else []), torchrun]
    ranks = ["--no-python", *rank_command(launch)]
    if len(launch.hosts) <= 1:
        return [[*started, "--standalone", "--nproc-per-node", str(launch.processes), *ranks]]
    if len({host.slots for host in launch.hosts}) > 1:
        raise UsageError("torchrun starts the same number of ranks on each host: give all hosts the same slots")
    meet = ["--rdzv-backend", "static", "--master-addr", launch.hosts[0].address]
    meet += ["--master-port", os.environ.get("MASTER_PORT", str(PORT))]
    each = ["--nproc-per-node", str(launch.hosts[0].slots)]
    nodes = len(launch.hosts)
    return [[*started, "--nnodes", str(nodes), "--node-rank", str(i), *meet, *each, *ranks] for i in range(nodes)]


def start(launch: Launch) -> Ended:
    """Run it on this host and wait.

    Raises:
        UsageError: there are several hosts. Other errors are those of `commands`.
    """
    if len(launch.hosts) > 1:
        raise UsageError(
            "torchrun starts ranks on this host only: run on each host the command that --dry-run prints for it, "
            "or use --launcher ssh"
        )
    return run_command(commands(launch)[0], environment(launch))
