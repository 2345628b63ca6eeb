# SPDX-License-Identifier: Apache-2.0
"""`backend="railgauge"`: known to torch.distributed once this is imported."""

from typing import Any

import torch.distributed as dist

from railgauge.collectives.torch.cuda import CudaWork, CudaWorkOnCallersStream
from railgauge.collectives.torch.group import DEVICES, NAME, TorchGroup, end_of
from railgauge.collectives.torch.job import TorchJob
from railgauge.collectives.torch.store import store_of
from railgauge.collectives.torch.uncompiled import leave_uncompiled
from railgauge.collectives.torch.work import PythonWork, TorchWork, WorksTogether


def make_group(options: Any, backend_options: Any) -> TorchGroup:
    """The group that torch asks for: a part of the default group, where that is ours, or else a rendezvous of its own.

    Raises:
        DistBackendError: some ranks did not join within the timeout. ValueError: an option is given, or invalid.
    """
    if backend_options is not None:
        raise ValueError(f"railgauge: pg_options={backend_options!r:.80}: this back end has none")
    members, timeout = list(options.global_ranks_in_group), options.timeout
    whole = dist.group.WORLD if members and dist.is_initialized() else None
    known = end_of(whole) if whole else None
    if known and timeout <= known.job.timeout:
        return named(known.part(members, options.store, timeout), options)
    members = members or list(range(options.group_size))
    job = TorchJob(store_of(members, options.store), options.group_rank, options.group_size, members, timeout)
    return named(TorchGroup(job, job.communicator, members, options.store, timeout), options)


def named(group: TorchGroup, options: Any) -> TorchGroup:
    """The group with torch's name for it."""
    group.setGroupName(options.group_id)
    return group


def register() -> None:
    """Tell torch of it; a second time has no effect."""
    if NAME.upper() not in dist.Backend._plugins:
        leave_uncompiled(TorchGroup, PythonWork, TorchWork, CudaWork, CudaWorkOnCallersStream, WorksTogether)
        dist.Backend.register_backend(NAME, make_group, extended_api=True, devices=list(DEVICES))
