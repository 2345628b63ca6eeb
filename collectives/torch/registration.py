# SPDX-License-Identifier: Apache-2.0
"""`backend="railgauge"`: known to torch.distributed once this is imported."""

import hashlib
from typing import Any

import torch.distributed as dist

from railgauge.collectives.torch.group import DEVICES, NAME, TorchGroup
from railgauge.collectives.torch.job import TorchJob


def make_group(options: Any, backend_options: Any) -> TorchGroup:
    """The group that torch asks for: a part of the default group, where that is ours, or else a rendezvous of its own.

    Raises:
        DistBackendError: some ranks did not join within the timeout. ValueError: an option is given, or invalid.
    """
    if backend_options is not None:
        raise ValueError(f"railgauge: pg_options={backend_options!r:.80}: this back end has none")
    members, timeout = list(options.global_ranks_in_group), options.timeout
    whole = dist.group.WORLD if members and dist.is_initialized() else None
    if isinstance(whole, TorchGroup) and timeout <= whole.job.timeout:
        return whole.part(members, options.store, timeout)
    members = members or list(range(options.group_size))
    # Groups of other ranks may have this one's name, and so its keys: torch numbers each process's calls of new_group.
    store = dist.PrefixStore(hashlib.sha256(str(members).encode()).hexdigest()[:16], options.store)
    job = TorchJob(store, options.group_rank, options.group_size, members, timeout)
    return TorchGroup(job, job.communicator, members, options.store, timeout)


def register() -> None:
    """Tell torch of it; a second time has no effect."""
    if NAME.upper() not in dist.Backend._plugins:
        dist.Backend.register_backend(NAME, make_group, extended_api=True, devices=list(DEVICES))
