# SPDX-License-Identifier: Apache-2.0
"""Devices for which the user named another back end: `cpu:railgauge,cuda:nccl`."""

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist


def devices_of(config: str) -> dict[str, str]:
    """The back end of each device of a group, from torch's words for it (`cpu:railgauge,cuda:nccl`)."""
    return dict(one.split(":", 1) for one in config.split(",")) if config else {}


def other_backend(name: str, device: str, store: Any, rank: int, size: int, timeout: timedelta, group_name: str) -> Any:
    """A process group of torch's own for one device, of the back end nccl or gloo.

    Raises:
        ValueError: it is another one.
    """
    kinds = dist.ProcessGroup.BackendType
    store = dist.PrefixStore(f"{device}/{name}", store)
    if name == "nccl":
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = timeout
        kind, backend = kinds.NCCL, dist.ProcessGroupNCCL(store, rank, size, options)
    elif name == "gloo":
        kind, backend = kinds.GLOO, dist.ProcessGroupGloo(store, rank, size, timeout=timeout)
    else:
        raise ValueError(f"railgauge: {device}:{name}: beside railgauge only nccl and gloo are supported")
    group = dist.ProcessGroup(store, rank, size)
    group._set_default_backend(kind)
    group._register_backend(torch.device(device), kind, backend)
    group._set_group_name(f"{group_name}/{device}")
    return group
