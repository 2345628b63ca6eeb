# SPDX-License-Identifier: Apache-2.0
"""Which GPUs take part: --gpus, or CUDA_VISIBLE_DEVICES as CUDA reads it (indices or UUIDs to the first wrong one)."""

from railgauge.topo.errors import UsageError
from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.values.number import whole


def visible(
    gpus: tuple[NvmlGpu, ...], chosen: tuple[int, ...] | None, setting: str | None
) -> tuple[tuple[NvmlGpu, ...], tuple[str, ...]]:
    """The GPUs to use in rank order, and remarks. `chosen` (NVML indices) wins over `setting`.

    A wrong index is a UsageError.
    """
    if chosen is not None:
        known = {gpu.index: gpu for gpu in gpus}
        missing = [str(index) for index in chosen if index not in known]
        if missing:
            raise UsageError(f"--gpus: no GPU {', '.join(missing)}; this machine has {sorted(known) or 'none'}")
        return tuple(known[index] for index in chosen), ()
    if setting is None or not gpus:
        return gpus, ()
    taken: list[NvmlGpu] = []
    for part in setting.split(","):
        gpu = _one(gpus, part.strip())
        if gpu is None or gpu in taken:
            break
        taken.append(gpu)
    mig = ": MIG is not modelled" if "MIG-" in setting else ""
    return tuple(taken), (f"CUDA_VISIBLE_DEVICES={setting} leaves {len(taken)} of {len(gpus)} GPUs{mig}",)


def _one(gpus: tuple[NvmlGpu, ...], part: str) -> NvmlGpu | None:
    if (index := whole(part)) is not None:
        return gpus[index] if 0 <= index < len(gpus) else None
    return next((gpu for gpu in gpus if part and gpu.uuid and gpu.uuid.startswith(part)), None)
