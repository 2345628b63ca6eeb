# SPDX-License-Identifier: Apache-2.0
"""The transports that collectives are tested over: all steps of all rings over one of them, or mixed."""

import pytest

from railgauge.transports.connect import Nets

TRANSPORTS = ["SHM", "NET/Socket"]
over_each_transport = pytest.mark.parametrize("transport", TRANSPORTS)


def nets(transport: str, rings: list[list[int]]) -> list[list[Nets]]:
    """How each step goes; "mixed": every second one over a socket."""
    wanted = {"SHM": (None, None), "NET/Socket": ([0, 0], [0, 0]), "mixed": (None, [0, 0])}[transport]
    return [[wanted[place % 2] for place in range(len(ring))] for ring in rings]
