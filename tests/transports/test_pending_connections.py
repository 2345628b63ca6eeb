# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from railgauge.transports.pending_connections import PendingConnections


def test_the_oldest_of_the_host_with_most_goes_first():
    outsiders = PendingConnections(3)
    for number, name in enumerate(("10.0.0.1:1", "10.0.0.9:1", "10.0.0.9:2", "10.0.0.9:3", "[fd00::1]:9")):
        outsiders.add(number, name)
    surplus = outsiders.surplus()
    assert next(surplus) == 1
    outsiders.remove(1, "10.0.0.9:1")
    outsiders.remove(1, "10.0.0.9:1")
    assert next(surplus) == 2
    outsiders.remove(2, "10.0.0.9:2")
    assert list(surplus) == []
    outsiders.most = 2
    assert next(outsiders.surplus()) == 0


def test_out_of_files_half_of_them_go_but_for_a_few():
    outsiders = PendingConnections(1000)
    for number in range(100):
        outsiders.add(number, f"h:{number}")
    outsiders.leave_files()
    assert outsiders.most == 50
    assert next(outsiders.surplus()) == 0
    for number in range(100):
        outsiders.remove(number, f"h:{number}")
    outsiders.leave_files()
    assert outsiders.most == 16


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 3))))
def test_it_holds_what_was_added_and_not_removed(steps):
    outsiders, wanted = PendingConnections(1000), set()
    for adds, number, host in steps:
        (outsiders.add if adds else outsiders.remove)((number, host), f"h{host}:{number}")
        (wanted.add if adds else wanted.discard)((number, host))
        assert set(outsiders) == wanted
        assert len(outsiders) == len(wanted)
