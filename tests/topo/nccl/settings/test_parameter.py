# SPDX-License-Identifier: Apache-2.0
"""Numbers among NCCL's settings are read as C reads them."""

import pytest

from railgauge.topo.nccl.settings.parameter import parameter


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (None, 7),
        ("", 7),
        ("3", 3),
        (" 3", 3),
        ("-1", -1),
        ("+2", 2),
        ("0x10", 16),
        ("010", 8),
        ("0", 0),
        ("08", 0),
        ("3,4", 3),
        ("yes", 0),
        ("99999999999999999999", 7),
    ],
)
def test_a_number_is_what_strtoll_makes_of_it(text, want):
    assert parameter({} if text is None else {"NCCL_X": text}, "NCCL_X", 7) == want
