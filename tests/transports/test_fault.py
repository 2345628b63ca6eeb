# SPDX-License-Identifier: Apache-2.0
import pytest

from railgauge.topo.errors import UsageError
from railgauge.transports.fault import Fault, parse_fault


def test_all_parts():
    got = parse_fault("stall:rank=1,channel=2,message=3,seconds=0.5")
    assert got == Fault(kind="stall", rank=1, channel=2, message=3, seconds=0.5)


def test_the_kind_alone():
    assert parse_fault("flip") == Fault(kind="flip")


@pytest.mark.parametrize(
    "text", ["", "melt", "flip:rank", "flip:rank=x", "flip:colour=1", "flip:message=-1", "stall:seconds=inf"]
)
def test_nonsense_is_a_usage_error(text):
    with pytest.raises(UsageError, match="--fault"):
        parse_fault(text)
