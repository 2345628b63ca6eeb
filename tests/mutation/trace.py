# SPDX-License-Identifier: Apache-2.0
"""In the virtual environment of a copied tree: every process appends the functions of the copy that it enters, each
once as `path:name`, to the file that `.venv/trace` names. Without that file it does nothing.
"""

import os
import sys
import threading
from types import CodeType, FrameType


def start() -> None:
    """If it is wanted."""
    try:
        with open(os.path.join(sys.prefix, "trace"), encoding="utf-8") as flag:
            into = os.open(flag.read(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError:
        return
    package = os.path.join(os.path.dirname(sys.prefix), "src", "railgauge", "")
    seen: dict[int, CodeType] = {}

    def enter(frame: FrameType, _event: str, _arg: object) -> None:
        code = frame.f_code
        if id(code) not in seen:
            seen[id(code)] = code  # held, so that no other gets its number
            if code.co_filename.startswith(package):
                os.write(into, f"{code.co_filename[len(package) :]}:{code.co_qualname}\n".encode())

    threading.settrace(enter)
    sys.settrace(enter)


start()
