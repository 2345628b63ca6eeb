# SPDX-License-Identifier: Apache-2.0
"""The pass over memory that rows are held beside: it does read and write all that it says."""

import os

import numpy as np
import pytest
from tests.cli.command import document

from railgauge._native import collectives as native
from railgauge.topo.errors import UsageError

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(("read", "written"), [(0, 0), (100, 100), (1, 1000), (1000, 1), (1 << 20, 1 << 20)])
def test_everything_is_written_and_nothing_else(read, written):
    source = np.random.default_rng(3).integers(1, 255, read, np.uint8)
    destination = np.full(written + 9, 7, np.uint8)
    assert native.memory_floor(source, read, destination, written, 5) > 0
    copied = min(read, written)
    assert (destination[:copied] == source[:copied]).all()
    assert (destination[copied:written] == 0).all()
    assert (destination[written:] == 7).all()


def test_a_buffer_that_is_too_short_is_refused():
    with pytest.raises(UsageError, match="shorter than its size argument"):
        native.memory_floor(np.zeros(3, np.uint8), 4, np.zeros(4, np.uint8), 4, 1)


@pytest.mark.skipif(CORES < 2, reason="a core for each rank")
def test_rows_have_it_where_each_rank_has_a_core():
    asked = ("-b", "64K", "-e", "64K", "-n", "3", "-c", "0")
    assert document("--ranks", "2", *asked)["rows"][0]["floor_us"] > 0
    assert document("--ranks", str(CORES + 1), *asked)["rows"][0]["floor_us"] is None
