# SPDX-License-Identifier: Apache-2.0
"""Which findings a command checks: ids one by one or with commas, and those that it does not have."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.findings.detectors import selected

KNOWN = ("gpu-lost", "nic-lost", "nvlink-missing")


@pytest.mark.parametrize(
    ("only", "skip", "left"),
    [
        ((), (), KNOWN),
        (("nvlink-missing,gpu-lost",), (), ("gpu-lost", "nvlink-missing")),
        (("nvlink-missing", "gpu-lost, nic-lost"), ("nic-lost",), ("gpu-lost", "nvlink-missing")),
        ((), ("gpu-lost,nic-lost",), ("nvlink-missing",)),
        ((), ("gpu-lost,dip-at-size",), ("nic-lost", "nvlink-missing")),  # another command's may be left out
    ],
)
def test_ids_are_chosen(only, skip, left):
    assert selected(KNOWN, only, skip) == left


@pytest.mark.parametrize(
    ("only", "skip", "said"),
    [
        ((), ("gpu-lost,nic-lst",), "not checked by this command: 'nic-lst' (did you mean nic-lost?); railgauge"),
        (("dip-at-size",), (), "not checked by this command: 'dip-at-size'; railgauge explain lists all ids"),
        (("",), (), "not checked by this command: ''; railgauge"),
        (("1,2,3,4,5",), (), "not checked by this command: '1', '2', '3' and 2 more; railgauge"),
    ],
)
def test_unknown_ids_are_named_and_no_others(only, skip, said):
    with pytest.raises(UsageError) as error:
        selected(KNOWN, only, skip)
    assert said in str(error.value)
