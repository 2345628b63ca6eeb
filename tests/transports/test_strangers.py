# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from railgauge.transports.strangers import Strangers


def test_the_oldest_of_the_host_with_most_goes_first():
    strangers = Strangers(3)
    for number, name in enumerate(("10.0.0.1:1", "10.0.0.9:1", "10.0.0.9:2", "10.0.0.9:3", "[fd00::1]:9")):
        strangers.add(number, name)
    surplus = strangers.surplus()
    assert next(surplus) == 1
    strangers.remove(1, "10.0.0.9:1")
    strangers.remove(1, "10.0.0.9:1")
    assert next(surplus) == 2
    strangers.remove(2, "10.0.0.9:2")
    assert list(surplus) == []
    strangers.most = 2
    assert next(strangers.surplus()) == 0


def test_out_of_files_half_of_them_go_but_for_a_few():
    strangers = Strangers(1000)
    for number in range(100):
        strangers.add(number, f"h:{number}")
    strangers.leave_files()
    assert strangers.most == 50
    assert next(strangers.surplus()) == 0
    for number in range(100):
        strangers.remove(number, f"h:{number}")
    strangers.leave_files()
    assert strangers.most == 16


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 3))))
def test_it_holds_what_was_added_and_not_removed(steps):
    strangers, wanted = Strangers(1000), set()
    for adds, number, host in steps:
        (strangers.add if adds else strangers.remove)((number, host), f"h{host}:{number}")
        (wanted.add if adds else wanted.discard)((number, host))
        assert set(strangers) == wanted
        assert len(strangers) == len(wanted)
