# SPDX-License-Identifier: Apache-2.0
"""Why a communicator of GPUs has no sums by NVSwitches."""

import pytest

from railgauge.collectives import nvls
from railgauge.collectives.gpu_way import Via

ON = {"RAILGAUGE_MULTICAST": "1"}
OF_A_GPU = "the GPU or its driver does not support it"
ALL = [[Via.NONE, Via.IPC], [Via.IPC, Via.NONE]]


@pytest.mark.parametrize(
    ("settings", "not_exportable", "why"),
    [
        ({}, "", nvls.OFF),
        ({"RAILGAUGE_MULTICAST": "0"}, "", nvls.OFF),
        (ON | {"NCCL_NVLS_ENABLE": "0"}, "", "NCCL_NVLS_ENABLE=0"),
        (ON, "NCCL_CUMEM_ENABLE=0", "NCCL_CUMEM_ENABLE=0"),
        (ON, "", OF_A_GPU),
        (ON | {"NCCL_NVLS_ENABLE": "1"}, "", OF_A_GPU),
    ],
)
def test_what_a_rank_says(monkeypatch, settings, not_exportable, why):
    monkeypatch.setattr(nvls.native, "why_no_nvls", lambda _device: OF_A_GPU)
    assert nvls.why_no_nvls(settings, 0, not_exportable) == why


@pytest.mark.parametrize(
    ("why", "vias", "of_all"),
    [
        (["", ""], ALL, ""),
        ([nvls.OFF, nvls.OFF], ALL, nvls.OFF),
        (["", nvls.OFF], ALL, f"rank 1: {nvls.OFF}"),
        ([nvls.OFF, OF_A_GPU], ALL, f"rank 0: {nvls.OFF}"),
        ([""], [[Via.NONE]], "it takes 2 to 8 ranks"),
        (9 * [""], 9 * [9 * [Via.DIRECT]], "it takes 2 to 8 ranks"),
        (
            ["", ""],
            [[Via.NONE, Via.SHM], [Via.SHM, Via.NONE]],
            "not all GPUs are of one host and map each other's memory",
        ),
    ],
)
def test_all_ranks_have_it_or_one_reason_why_not(why, vias, of_all):
    assert nvls.why_none(why, vias) == of_all
