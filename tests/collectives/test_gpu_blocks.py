# SPDX-License-Identifier: Apache-2.0
"""How many blocks a communicator of GPUs may use, by NCCL's settings and an option."""

import pytest

from railgauge.collectives.gpu_blocks import NO_LIMIT, most_blocks
from railgauge.collectives.gpu_way import Layout, Via
from railgauge.topo.errors import UsageError


@pytest.mark.parametrize(
    ("settings", "option", "most"),
    [
        ({}, None, NO_LIMIT),
        ({"NCCL_MAX_CTAS": "16"}, None, 16),
        ({"NCCL_MAX_CTAS": "0"}, None, NO_LIMIT),
        ({"NCCL_MAX_CTAS": "-3"}, 5, 5),
        ({"NCCL_MAX_NCHANNELS": "8"}, None, 8),
        ({"NCCL_MAX_NRINGS": "8"}, None, 8),
        ({"NCCL_MAX_NCHANNELS": "9", "NCCL_MAX_NRINGS": "8"}, None, 9),
        ({"NCCL_MAX_NCHANNELS": "0"}, None, 1),
        ({"NCCL_MAX_NCHANNELS": "many"}, None, 1),
        ({"NCCL_MAX_CTAS": "16", "NCCL_MAX_NCHANNELS": "32"}, 24, 16),
        ({"NCCL_MAX_CTAS": "16"}, 2, 2),
    ],
)
def test_the_least_limit_counts(settings, option, most):
    assert most_blocks(settings, option) == most


@pytest.mark.parametrize("option", [0, -1, 1.5, "4", True])
def test_an_option_that_is_no_number_of_blocks(option):
    with pytest.raises(UsageError, match=r"max_ctas is .*: expected a whole number of blocks, 1 or more"):
        most_blocks({}, option)


@pytest.mark.parametrize("via", [Via.IPC, Via.SHM, Via.NET])
def test_fewer_blocks_have_fewer_buffers(via):
    vias = [[Via.NONE, via], [via, Via.NONE]]
    all_of_it, some = Layout.of(vias, nvlink=True), Layout.of(vias, nvlink=True, most_blocks=8)
    assert (some.blocks, some.line_blocks) == (min(8, all_of_it.blocks), min(8, all_of_it.line_blocks))
    assert some.slot_bytes == all_of_it.slot_bytes
    assert some.full_lines == all_of_it.full_lines * 8 // all_of_it.blocks
    assert Layout.of(vias, nvlink=True, most_blocks=NO_LIMIT) == all_of_it
