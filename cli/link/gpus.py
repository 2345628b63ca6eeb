# SPDX-License-Identifier: Apache-2.0
"""How `railgauge link` measures the GPUs of this machine: whether it does, and in this process."""

from railgauge.cli.link.output import finish
from railgauge.cli.link.start import LinkAnswer
from railgauge.cli.output import check_folders
from railgauge.cli.ranks_start import Start, place_of
from railgauge.cli.streams import show_progress, tell
from railgauge.collectives.device import AUTO, Device, check_device, leave_hung_gpu, resolve
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult
from railgauge.topo.errors import UsageError


def takes_gpus(device: str, asked: Start) -> bool:
    """Whether GPUs are measured, and not ranks on the host.

    Left to itself it takes GPUs where CUDA shows some, and nothing asks for ranks: no flag, and no job that this is a
    process of.

    Raises:
        UsageError: there is no such device, or ranks are asked for beside GPUs. UnavailableError: there are no GPUs.
    """
    check_device(device)
    place = place_of(asked)
    ranks = asked.ranks is not None or asked.launches or (place is not None and place.processes > 1)
    if ranks and device == Device.CUDA:
        raise UsageError(
            "--device cuda: one process measures all GPUs of a machine: leave --ranks, --launcher, --hosts and places "
            "in a job out (as mpirun, srun and torchrun give them)"
        )
    if ranks or resolve(device) is Device.CPU:
        return False
    if device == AUTO:
        _remark("GPUs are measured; --device cpu --ranks N measures ranks on the host")
    return True


def measure(job: LinkJob, answer: LinkAnswer) -> int:
    """Measure them, print and write the result; return the exit status."""
    from railgauge.collectives.link.gpu_measurement import measure_gpus

    check_folders(answer.files)
    result = LinkResult(job=job)
    error: Exception | None = None
    try:
        measure_gpus(result, show_progress, _remark)
    except Exception as caught:
        error = caught
    show_progress("")
    status = finish(result, error, answer)
    leave_hung_gpu(status)
    return status


def _remark(text: str) -> None:
    show_progress("")
    tell(f"railgauge link: {text}")
