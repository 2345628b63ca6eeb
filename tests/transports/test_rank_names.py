# SPDX-License-Identifier: Apache-2.0
"""How ranks are named in messages."""

import pytest

from railgauge.transports.rank_names import name_ranks


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([3], "rank 3"),
        ([7, 3], "ranks 3 and 7"),
        ([1, 2, 3, 5, 9], "ranks 1-3, 5 and 9"),
        (range(1, 1024), "ranks 1-1023"),
        (range(0, 60, 2), "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and more"),
    ],
)
def test_names_of_ranks(ranks, text):
    assert name_ranks(ranks) == text
