# SPDX-License-Identifier: Apache-2.0
"""Options of `run` that exclude others: --tune gives no rows, and --engine nccl has none of our own engine's."""

import os
from collections.abc import Mapping, Sequence

from railgauge.cli.run.result_file import JSON, ResultFile
from railgauge.collectives.device import AUTO, Device
from railgauge.topo.errors import UsageError


def check_tune(given: Mapping[str, object], files: Sequence[ResultFile]) -> None:
    """Check what goes with --tune, which measures algorithms and gives no rows.

    Raises:
        UsageError: an option needs rows, or a setting would distort the measurement.
    """
    wants_rows = [flag for flag, value in given.items() if value not in (None, "")]
    wants_rows += [f"-o {file.path}" for file in files if file.format != JSON]
    if wants_rows:
        raise UsageError(f"--tune gives no rows, which {', '.join(wants_rows)} needs: leave one of them out")
    from railgauge.collectives.tune import check_undistorted

    check_undistorted(os.environ)


def check_nccl(device: str, ours: Mapping[str, object]) -> None:
    """Refuse host memory and options of our own engine; `ours` has the values of these.

    Raises:
        UsageError: one of them is given.
    """
    if device not in (AUTO, Device.CUDA):
        raise UsageError(f"--engine nccl uses GPU memory only: leave out --device {device}")
    if given := [flag for flag, value in ours.items() if value]:
        raise UsageError(f"--engine nccl does not support {', '.join(given)}")
