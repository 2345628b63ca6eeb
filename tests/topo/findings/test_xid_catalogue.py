# SPDX-License-Identifier: Apache-2.0
"""The catalogue of Xids: every number of NVIDIA's that is in use is explained, and its level is that of its action."""

import pytest

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.xid_catalogue import (
    NVLINK5,
    OTHER_XID,
    RECOVERY_CHANGED,
    SXIDS,
    XIDS,
    XidAction,
    meaning_of_sxid,
    meaning_of_xid,
)

UNUSED = {
    *range(1, 8),
    *(
        9,
        10,
        12,
        *range(14, 25),
        *range(26, 31),
        *range(33, 37),
        42,
        47,
        *range(49, 54),
        *range(55, 60),
        65,
        73,
        81,
        87,
    ),
    *(90, 91, *range(111, 119), *range(122, 126), 138),
}
"""NVIDIA's catalogue calls these unused (61 was in use in older drivers)."""


@pytest.mark.parametrize("code", sorted({*range(1, 173)} - UNUSED))
def test_every_number_in_use_is_explained(code):
    assert meaning_of_xid(code, "") != OTHER_XID
    assert (code in XIDS) != (code in (*NVLINK5, RECOVERY_CHANGED))


def test_unused_numbers_are_not_explained():
    assert not UNUSED & {*XIDS}


@pytest.mark.parametrize("action", XidAction)
def test_a_node_is_drained_where_the_action_says_so(action):
    assert action.drains == ("drain the node" in action.words) == (action.level is Level.FAIL)


def test_an_sxid_is_as_serious_as_its_message_says():
    assert meaning_of_sxid(99999, "fatal").action.drains
    assert not any(meaning_of_sxid(code, "nonfatal").action.drains for code in SXIDS if code != 19084)
