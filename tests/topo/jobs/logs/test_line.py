# SPDX-License-Identifier: Apache-2.0
"""The headers of NCCL's lines, as each release prints them (tests/nccl asks the libraries)."""

import pytest

from railgauge.topo.jobs.logs.line import LogLine, messages


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("n1:7:8 [3] NCCL INFO text", LogLine("text", "INFO", "n1", 7, 8, 3)),
        ("n1:7:8 [683980679] NCCL INFO text", LogLine("text", "INFO", "n1", 7, 8)),
        ("n1:7:8 [-1373829481] NCCL INFO text", LogLine("text", "INFO", "n1", 7, 8)),
        ("`n1:7:8 [3] NCCL INFO text", LogLine("text", "INFO", "n1", 7, 8, 3, "`")),
        ("n1:7:8 NCCL CALL ncclGetUniqueId(0x1)", LogLine("ncclGetUniqueId(0x1)", "CALL", "n1", 7, 8)),
        (
            "[2026-11-24 00:39:35] n1:7:8 [0] a.cc:9 NCCL WARN text",
            LogLine("a.cc:9 text", "WARN", "n1", 7, 8, 0, "[2026-11-24 00:39:35] "),
        ),
        (
            "00:41:03.429 n1:7:8 [0] a.cc:9 (fn) NCCL WARN text",
            LogLine("a.cc:9 text", "WARN", "n1", 7, 8, 0, "00:41:03.429 "),
        ),
    ],
)
def test_a_header_is_taken_apart(line, want):
    assert list(messages(line.encode())) == [want]
