# SPDX-License-Identifier: Apache-2.0
"""The bounds of a timeout hold for the command line (tests/cli/run/test_run.py) and for programs."""

from datetime import timedelta

import pytest

from railgauge.collectives.launch.timeout import check_timeout
from railgauge.collectives.process_group import init_process_group
from railgauge.topo.errors import UsageError


@pytest.mark.parametrize("seconds", [0.5, 1, 60, 1e6])
def test_a_timeout_within_bounds_is_one(seconds):
    check_timeout(seconds)


@pytest.mark.parametrize("seconds", [0, -1, 0.49, 1e6 + 1, float("inf"), float("nan")])
def test_a_timeout_out_of_bounds_is_none(seconds):
    with pytest.raises(UsageError, match=r"expected 0.5 to 1e\+06 seconds"):
        check_timeout(seconds)


@pytest.mark.parametrize("timeout", [timedelta(0), timedelta(days=100_000)])
def test_a_program_is_told_so_too(timeout):
    with pytest.raises(UsageError, match="seconds"):
        init_process_group("hash://", 0, 1, timeout)
