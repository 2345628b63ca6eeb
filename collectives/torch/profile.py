# SPDX-License-Identifier: Apache-2.0
"""Calls as events of torch's profiler, named as those of its own back ends: `railgauge:all_reduce`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch.profiler import record_function

is_profiling: Callable[[], bool] = torch._C._autograd._profiler_enabled


def profiled(name: str, is_async: bool, start: Callable[..., Any], *args: Any) -> Any:
    """The result of `start`, as an event that lasts as long as it: with `is_async`, until the operation is under way.
    Torch takes an event for asynchronous that ends on another thread than it began on.
    """
    event = record_function(name)
    with event:
        try:
            return start(*args)
        finally:
            if is_async:
                with ThreadPoolExecutor(1) as other:
                    other.submit(event.__exit__, None, None, None).result()
                event.run_callbacks_on_exit = False
