# SPDX-License-Identifier: Apache-2.0
"""The extension keeps the engine's and a static libstdc++'s symbols to itself: bound to those of another C++ library in
the process (NumPy's, PyTorch's), reading a number from a file gave 0."""

import shutil
import subprocess

import pytest

from railgauge import _native


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm on PATH: it comes with binutils")
def test_the_extension_exports_no_symbols_of_its_libraries():
    listed = subprocess.run(
        ["nm", "-DC", "--defined-only", _native.__file__], capture_output=True, text=True, check=True
    )
    functions = [line.split(" T ")[1] for line in listed.stdout.splitlines() if " T " in line]
    assert functions == ["PyInit__native"]
