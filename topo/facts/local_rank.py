# SPDX-License-Identifier: Apache-2.0
"""The local rank of a process, from the environment variables of launchers."""

from collections.abc import Mapping

from railgauge.topo.errors import UsageError

VARIABLES = (
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",  # Intel MPI and MPICH's Hydra
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "LOCAL_RANK",  # torchrun
    "SLURM_LOCALID",  # last: a launcher that srun started has it too
)


def local_rank(environment: Mapping[str, str]) -> int:
    """The rank on this node; UsageError without a launcher's variable."""
    found = next((environment[name] for name in VARIABLES if environment.get(name, "").isdecimal()), None)
    if found is None:
        raise UsageError(
            f"local rank unknown: give --rank R, or start it by a launcher that sets one of {', '.join(VARIABLES)}"
        )
    return int(found)
