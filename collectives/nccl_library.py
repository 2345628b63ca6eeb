# SPDX-License-Identifier: Apache-2.0
"""Finds the installed libnccl: the one that RAILGAUGE_NCCL_LIBRARY names, the loader's, or that of PyTorch's wheels."""

import os
import sys
from collections.abc import Iterable, Mapping

from railgauge._native import collectives as native
from railgauge.topo.errors import UnavailableError

SETTING = "RAILGAUGE_NCCL_LIBRARY"
NAME = "libnccl.so.2"
IN_WHEEL = os.path.join("nvidia", "nccl", "lib", NAME)
"""Of nvidia-nccl-cu12 and -cu13, below a folder of Python's packages."""


def open_nccl(environ: Mapping[str, str] = os.environ, packages: Iterable[str] | None = None) -> native.NcclLibrary:
    """Open it; `packages` are the folders that Python imports from.

    Raises:
        UnavailableError: there is none, it is older than 2.10.3, or the named file is not NCCL.
    """
    if named := environ.get(SETTING):
        return native.NcclLibrary(named)
    try:
        return native.NcclLibrary(NAME)
    except UnavailableError as error:
        for folder in sys.path if packages is None else packages:
            if os.path.exists(path := os.path.join(folder, IN_WHEEL)):
                return native.NcclLibrary(path)
        raise UnavailableError(
            f"{error}: install libnccl2, or nvidia-nccl-cu13 beside railgauge, or set {SETTING} to the file"
        ) from None
