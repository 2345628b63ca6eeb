# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings of NVLink between hosts."""

import pytest

from railgauge.topo.nccl.settings.mnnvl import AUTO, BY_RACK, OFF, REQUIRED, Mnnvl, read_mnnvl

CLUSTER = "0500000000000000" * 2


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, Mnnvl(AUTO, None, None)),
        ({"NCCL_MNNVL_ENABLE": "0"}, Mnnvl(OFF)),
        ({"NCCL_MNNVL_ENABLE": "1"}, Mnnvl(REQUIRED)),
        ({"NCCL_MNNVL_UUID": "5", "NCCL_MNNVL_CLIQUE_ID": "7"}, Mnnvl(AUTO, CLUSTER, 7)),
        ({"NCCL_MNNVL_UUID": "-1", "NCCL_MNNVL_CLIQUE_ID": "-1"}, Mnnvl()),
        (
            {"NCCL_MNNVL_UUID": "-2", "NCCL_MNNVL_CLIQUE_ID": "-2"},
            Mnnvl(AUTO, "fe" + 7 * "ff" + "fe" + 7 * "ff", BY_RACK),
        ),
        ({"NCCL_MNNVL_CLIQUE_ID": "-3"}, Mnnvl(AUTO, None, (1 << 32) - 3)),
    ],
)
def test_what_is_set_counts_as_in_nccl(settings, found):
    assert read_mnnvl(settings) == found
