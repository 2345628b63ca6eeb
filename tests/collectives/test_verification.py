# SPDX-License-Identifier: Apache-2.0
"""What messages say of the first wrong element."""

from math import inf

from railgauge.collectives.dtype import PatternKind
from railgauge.collectives.verification import Verification


def test_how_far_an_element_may_be_off_is_said_where_it_may():
    assert str(Verification(PatternKind.EXACT, 1, 7, 5.0, 3.0)) == "index 7: expected 5, got 3"
    wrong = Verification(PatternKind.RANDOM, 1, 7, 5.25, inf, 1.5)
    assert str(wrong) == "random data: index 7: expected 5.25 within 1.5 ULP, got inf"
