# SPDX-License-Identifier: Apache-2.0
"""The srun launcher: Slurm starts the processes, in the allocation that there is or in a new one.

The ranks read their rank from the variables that Slurm sets for tasks (place.py). The job secret and other exported
variables are passed with --export=ALL; a task that fails ends the step.
"""

from railgauge.collectives.launch.hostfile import Host, is_address
from railgauge.collectives.launch.launch import (
    Ended,
    Launch,
    environment,
    placeless_command,
    program,
    run_command,
    variables_of,
)
from railgauge.topo.errors import UsageError


def commands(launch: Launch) -> list[list[str]]:
    """The srun that starts all processes; hosts are filled in order, as many processes on each as it has slots.

    Raises:
        UsageError: the value of a -x has a comma, which srun's --export would split.
        UnavailableError: there is no srun.
    """
    return [
        [
            program("srun"),
            f"--ntasks={launch.processes}",
            *_placement(launch.hosts),
            "--mpi=none",  # no MPI: its setup is skipped and cannot fail
            "--cpu-bind=none",  # railgauge binds its ranks to the cores near their NICs and GPUs
            "--kill-on-bad-exit=1",
            "--unbuffered",
            f"--export={_export(launch)}",
            *placeless_command(launch),
        ]
    ]


def start(launch: Launch) -> Ended:
    """Run it; srun's own messages (no such node, no resources) are forwarded.

    Raises:
        UsageError, UnavailableError: as `commands`.
    """
    return run_command(commands(launch)[0], environment(launch))


def _placement(hosts: list[Host]) -> list[str]:
    """Task by task the node it runs on (srun(1): --distribution=arbitrary): slots may differ between nodes."""
    if not hosts:
        return []
    nodes = [_node_name(host) for host in hosts for _ in range(host.slots)]
    return ["--distribution=arbitrary", f"--nodelist={','.join(nodes)}"]


def _node_name(host: Host) -> str:
    """Slurm knows nodes by name alone."""
    return next((name for name in (host.address, *host.aliases) if not is_address(name)), host.address)


def _export(launch: Launch) -> str:
    """ALL, and the variables of -x that have a value of their own."""
    variables_of(launch)  # checks them
    given = [variable for variable in launch.variables if "=" in variable]
    for variable in given:
        if "," in variable:
            raise UsageError(
                f"-x {variable}: srun splits values at commas: export it here and use -x {variable.split('=')[0]}"
            )
    return ",".join(["ALL", *given])
