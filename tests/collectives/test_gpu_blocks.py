# SPDX-License-Identifier: Apache-2.0
"""How many blocks a communicator of GPUs may use, by NCCL's settings and an option."""

from dataclasses import replace

import pytest

from railgauge.collectives.gpu_blocks import (
    BESIDE_COMPUTATION,
    MOST_BLOCKS,
    NO_LIMIT,
    BlockLimits,
    beside_computation,
    block_limits,
    of_all,
)
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
    assert block_limits(settings).below(option) == (0, most)


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({}, BESIDE_COMPUTATION),
        ({"NCCL_ALGO": "Ring"}, BESIDE_COMPUTATION),
        ({"NCCL_MAX_CTAS": "0"}, BESIDE_COMPUTATION),
        ({"NCCL_MAX_CTAS": "128"}, None),
        ({"NCCL_MAX_NCHANNELS": "96"}, None),
        ({"NCCL_MIN_CTAS": "80"}, None),
    ],
)
def test_a_program_that_computes_meanwhile_has_a_limit_unless_settings_have_one(settings, most):
    assert beside_computation(settings) == most


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({"NCCL_MIN_CTAS": "24"}, (24, NO_LIMIT)),
        ({"NCCL_MIN_CTAS": "-1"}, (0, NO_LIMIT)),
        ({"NCCL_MIN_NCHANNELS": "8", "NCCL_MIN_NRINGS": "9", "NCCL_MIN_CTAS": "4"}, (8, NO_LIMIT)),
        ({"NCCL_MIN_NRINGS": "9"}, (9, NO_LIMIT)),
        ({"NCCL_MIN_NCHANNELS": "1000"}, (MOST_BLOCKS, NO_LIMIT)),
        ({"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "4"}, (8, 8)),
        ({"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_CTAS": "4"}, (8, 4)),
    ],
)
def test_the_fewest_blocks(settings, limits):
    assert block_limits(settings) == limits


def test_the_limits_of_all_ranks():
    assert of_all([[0, 8], [24, 16], [4, NO_LIMIT]]) == BlockLimits(24, 8)
    assert [BlockLimits(24, 32).of(blocks) for blocks in (16, 25, 64)] == [24, 25, 32]
    assert BlockLimits(24, 8).of(16) == 8


@pytest.mark.parametrize(("via", "blocks"), [(Via.IPC, 128), (Via.SHM, 100), (Via.NET, 100)])
def test_more_blocks_where_the_engine_has_few(via, blocks):
    """Their slots are as large, and lines, which short operations use, as many."""
    vias = [[Via.NONE, via], [via, Via.NONE]]
    few, found = (Layout.of(vias, nvlink=True, limits=BlockLimits(least)) for least in (0, 100))
    assert found == replace(few, blocks=blocks)


@pytest.mark.parametrize("option", [0, -1, 1.5, "4", True])
def test_an_option_that_is_no_number_of_blocks(option):
    with pytest.raises(UsageError, match=r"max_ctas is .*: expected a whole number of blocks, 1 or more"):
        BlockLimits().below(option)


@pytest.mark.parametrize("via", [Via.IPC, Via.SHM, Via.NET])
def test_fewer_blocks_have_fewer_buffers(via):
    vias = [[Via.NONE, via], [via, Via.NONE]]
    all_of_it, some = Layout.of(vias, nvlink=True), Layout.of(vias, nvlink=True, limits=BlockLimits(most=8))
    assert (some.blocks, some.line_blocks) == (min(8, all_of_it.blocks), min(8, all_of_it.line_blocks))
    assert some.slot_bytes == all_of_it.slot_bytes
    assert some.full_lines == all_of_it.full_lines * 8 // all_of_it.blocks
    assert Layout.of(vias, nvlink=True, limits=BlockLimits(most=NO_LIMIT)) == all_of_it
