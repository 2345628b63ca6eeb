# SPDX-License-Identifier: Apache-2.0
"""Our code beside torch.compile."""

from types import FunctionType

import torch


def leave_uncompiled(*classes: type) -> None:
    """Keep torch.compile from what methods of these classes do: it compiles what compiled code calls, as DDP's forward
    calls a group, and cannot compile work on streams and shared memory. Older releases of torch have no such call.
    """
    frames = torch._C._dynamo.eval_frame
    if not hasattr(frames, "set_code_exec_strategy"):
        return
    skip = frames._FrameAction.SKIP
    for one in classes:
        for method in vars(one).values():
            if isinstance(method, FunctionType):
                frames.set_code_exec_strategy(method.__code__, frames._FrameExecStrategy(skip, skip))
