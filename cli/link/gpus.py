# SPDX-License-Identifier: Apache-2.0
"""Measures the GPUs of this machine for `railgauge link`, in this process."""

from railgauge.cli.link.output import finish
from railgauge.cli.link.start import LinkAnswer, older_links
from railgauge.cli.output import check_folders
from railgauge.cli.ranks_start import Start, place_of
from railgauge.cli.streams import show_progress, tell
from railgauge.collectives.device import AUTO, Device, check_device, leave_at_once, resolve
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult
from railgauge.topo.errors import UsageError


def takes_gpus(device: str, asked: Start) -> bool:
    """Whether to measure GPUs instead of ranks on the host.

    `auto` takes GPUs if CUDA shows any and nothing asks for ranks: no option, and no job that this process belongs to.

    Raises:
        UsageError: unknown device, or ranks asked for together with GPUs. UnavailableError: no GPU.
    """
    check_device(device)
    place = place_of(asked)
    ranks = asked.ranks is not None or asked.launches or (place is not None and place.processes > 1)
    if ranks and device == Device.CUDA:
        raise UsageError(
            "--device cuda: one process measures all GPUs of a machine: leave --ranks, --launcher and --hosts out, "
            "and do not start it by mpirun, srun or torchrun"
        )
    if ranks or resolve(device) is Device.CPU:
        return False
    if device == AUTO:
        _remark("measuring GPUs; use --device cpu --ranks N to measure ranks on the host")
    return True


def measure(job: LinkJob, answer: LinkAnswer) -> int:
    """Measure them, print and write the result; return the exit status."""
    from railgauge.collectives.link.gpu_measurement import measure_gpus

    check_folders(answer.files)
    older = older_links(answer, job)
    result = LinkResult(job=job)
    error: Exception | None = None
    try:
        measure_gpus(result, show_progress, _remark)
    except Exception as caught:
        error = caught
    show_progress("")
    status = finish(result, error, answer, older)
    leave_at_once(status)
    return status


def _remark(text: str) -> None:
    show_progress("")
    tell(f"railgauge link: {text}")
