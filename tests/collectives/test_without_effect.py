# SPDX-License-Identifier: Apache-2.0
"""Settings that change nothing are told, and no others."""

import pytest

from railgauge.collectives.without_effect import without_effect


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"NCCL_PROTOS": "LL"}, "use NCCL_PROTO"),
        ({"NCCL_NTHREADS": "512"}, "NCCL_NTHREADS=512 has no effect"),
        ({"NCCL_PROTO": "LL,LL128"}, "excludes simple"),
        ({"NCCL_PROTO": "broadcast:LL"}, "excludes simple"),
        ({"NCCL_PROTO": "LL128"}, "excludes LL and simple"),
        ({"NCCL_ALGO": "NVLS"}, "allows no algorithm for broadcast, reduce, all_gather, reduce_scatter, all_reduce on"),
        ({"NCCL_ALGO": "Tree"}, "allows no algorithm for broadcast, reduce, all_gather, reduce_scatter on"),
    ],
)
def test_what_changes_nothing_is_told(settings, says):
    (line,) = without_effect(settings)
    assert says in line


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"NCCL_NTHREADS": "", "NCCL_BUFFSIZE": "65536", "NCCL_MAX_NCHANNELS": "2"},
        {"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring"},
        {"NCCL_PROTO": "^LL", "NCCL_ALGO": "allreduce:tree"},
    ],
)
def test_what_counts_is_not(settings):
    assert without_effect(settings) == []
