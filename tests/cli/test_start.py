# SPDX-License-Identifier: Apache-2.0
"""What a command loads when it starts: the check of a healthy machine needs neither the search nor the model."""

import subprocess
import sys

from tests.patience import HANGS_AFTER_S

CODE = """
import dataclasses, sys
made = []
make = dataclasses._process_class
dataclasses._process_class = lambda cls, *args, **options: (made.append(cls), make(cls, *args, **options))[1]
from railgauge.cli.main import dispatch
status = dispatch(["check", "--from", "@dgx-h100", "--quiet"])
heavy = [name for name in sys.modules if name.startswith(("railgauge.topo.predict.", "railgauge.topo.channels."))]
print(status, heavy, len(made))
"""
MOST_DATACLASSES = 60
"""Each costs a start as much as 25 named tuples: 105 of them were a quarter of `check`'s time."""


def test_the_check_of_a_healthy_machine_loads_neither_search_nor_model():
    shown = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=True
    )
    status, heavy, dataclasses = shown.stdout.splitlines()[-1].rsplit(maxsplit=2)
    assert (status, heavy) == ("0", "[]")
    assert int(dataclasses) <= MOST_DATACLASSES
