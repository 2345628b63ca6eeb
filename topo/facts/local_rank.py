# SPDX-License-Identifier: Apache-2.0
"""Which rank of its node a process is, by what launchers put into the environment."""

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
    """The rank on this node; UsageError where no launcher says."""
    found = next((environment[name] for name in VARIABLES if environment.get(name, "").isdecimal()), None)
    if found is None:
        raise UsageError(f"which rank is this? give --rank R, or start it by what sets one of {', '.join(VARIABLES)}")
    return int(found)
