# SPDX-License-Identifier: Apache-2.0
"""What every store does, whichever it is: `pair` is two handles of one store, as two processes would have them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from railgauge.topo.errors import Error, UsageError, WaitTimeoutError
from railgauge.transports.store import FileStore, HashStore, PrefixStore, TCPStore
from railgauge.transports.store.store import MAX_KEY, MAX_VALUE

LONG = timedelta(seconds=20)
SHORT = timedelta(milliseconds=50)


def make_hash(folder):
    store = HashStore(LONG)
    return store, store


def make_file(folder):
    return FileStore(str(folder / "store"), 2, LONG), FileStore(str(folder / "store"), 2, LONG)


def make_tcp(folder, secret=b""):
    master = TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG, secret=secret)
    return master, TCPStore("127.0.0.1", master.port, timeout=LONG, secret=secret)


def make_tcp_with_secret(folder):
    return make_tcp(folder, b"a job secret")


MAKERS = {"hash": make_hash, "file": make_file, "tcp": make_tcp, "tcp-secret": make_tcp_with_secret}


@pytest.fixture(params=[*MAKERS, "prefix-file", "prefix-tcp"])
def pair(request, tmp_path):
    prefix, _, name = request.param.rpartition("-") if "prefix" in request.param else ("", "", request.param)
    base = MAKERS[name](tmp_path)
    yield tuple(PrefixStore("job", store) for store in base) if prefix else base
    for store in reversed(base):
        store.close()
        store.close()


@pytest.fixture
def store(pair):
    return pair[0]


def test_what_one_sets_the_other_gets(pair):
    pair[0].set("a", "text")
    pair[1].set("b", b"\x00\xff")
    assert pair[1].get("a") == b"text"
    assert pair[0].multi_get(["b", "a"]) == [b"\x00\xff", b"text"]


def test_a_value_takes_the_place_of_the_one_before(pair):
    pair[0].set("a", "1")
    pair[1].set("a", "")
    assert pair[0].get("a") == b""
    assert pair[0].check(["a"])


def test_get_waits_for_the_key(pair):
    with ThreadPoolExecutor() as pool:
        got = pool.submit(pair[0].get, "late")
        pair[1].set("late", "here")
        assert got.result(20) == b"here"


def test_wait_waits_for_all_keys(pair):
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(pair[0].wait, ["a", "b"])
        pair[1].set("b", "")
        assert not waiting.done()
        pair[1].add("a", 1)
        waiting.result(20)


@pytest.mark.parametrize("put", ["set", "append", "compare_set", "multi_set", "add"])
def test_every_way_to_put_wakes_who_waits(pair, put):
    arguments = {"compare_set": ("a", "", "1"), "multi_set": (["a"], ["1"]), "add": ("a", 1)}.get(put, ("a", "1"))
    with ThreadPoolExecutor() as pool:
        got = pool.submit(pair[0].get, "a")
        getattr(pair[1], put)(*arguments)
        assert got.result(20) == b"1"


def test_a_wait_that_ends_names_what_is_missing(store):
    store.set("there", "")
    with pytest.raises(WaitTimeoutError, match=r"waited 0.05 s for .*never in .*store") as raised:
        store.wait(["there", "never"], SHORT)
    assert "there," not in str(raised.value)
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    with pytest.raises(WaitTimeoutError, match="never"):
        store.get("never")
    with pytest.raises(WaitTimeoutError, match="never"):
        store.multi_get(["there", "never"])
    assert store.get("there") == b""


def test_a_message_names_a_few_of_many_missing_keys(store):
    with pytest.raises(WaitTimeoutError, match="and 992 more"):
        store.wait([f"rank{n}" for n in range(1000)], SHORT)


def test_a_wait_of_one_thread_does_not_hold_up_another(store):
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(store.get, "last") for _ in range(3)]
        for n in range(20):
            store.set(f"k{n}", str(n))
            assert store.get(f"k{n}") == str(n).encode()
        store.set("last", "now")
        assert [each.result(20) for each in waiting] == [b"now"] * 3


def test_add_counts_in_text(pair):
    assert pair[0].add("n", 5) == 5
    assert pair[1].add("n", -7) == -2
    assert pair[0].get("n") == b"-2"
    pair[0].set("n", " 12x")
    assert pair[1].add("n", 1) == 13


def test_add_wraps_at_64_bits(store):
    assert store.add("n", 2**62) == 2**62
    assert store.add("n", 2**62) == -(2**63)


@pytest.mark.parametrize("text", ["text", "", "1" * 20, "-"])
def test_adding_to_what_is_no_number_is_an_error_and_changes_nothing(store, text):
    store.set("a", text)
    with pytest.raises(Error):
        store.add("a", 1)
    assert store.get("a") == text.encode()


def test_nothing_is_lost_when_many_add(pair):
    def add(number):
        for _ in range(25):
            pair[number % 2].add("n", 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    assert pair[0].get("n") == b"200"


def test_compare_set_puts_only_where_the_expectation_holds(pair):
    assert pair[0].compare_set("a", "", "1") == b"1"
    assert pair[1].compare_set("a", "", "2") == b"1"
    assert pair[1].compare_set("a", "9", "2") == b"1"
    assert pair[0].compare_set("a", "1", "2") == b"2"
    assert pair[1].get("a") == b"2"


def test_compare_set_of_an_absent_key_answers_what_was_expected(store):
    assert store.compare_set("a", "x", "y") == b"x"
    assert not store.check(["a"])


def test_one_of_many_wins_a_compare_set(pair):
    barrier = threading.Barrier(6)

    def claim(number):
        barrier.wait()
        return pair[number % 2].compare_set("leader", "", str(number))

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(claim, range(6)))) == 1


def test_append_makes_and_lengthens(pair):
    pair[0].append("a", "po")
    pair[1].append("a", "tato")
    assert pair[0].get("a") == b"potato"


def test_a_key_is_deleted_once(pair):
    pair[0].set("a", "")
    assert pair[1].delete_key("a")
    assert not pair[0].delete_key("a")
    assert not pair[1].check(["a"])


def test_a_deleted_key_is_waited_for_anew(pair):
    pair[0].set("a", "1")
    pair[0].delete_key("a")
    with pytest.raises(WaitTimeoutError):
        pair[1].wait(["a"], SHORT)


def test_keys_are_counted(store):
    before = store.num_keys()
    store.multi_set(["a", "b", "c"], ["", b"", "3"])
    store.delete_key("b")
    assert store.num_keys() == before + 2
    assert store.check(["a", "c"])
    assert not store.check(["a", "b"])


def test_no_keys_are_all_there(store):
    assert store.check([])
    assert store.multi_get([]) == []
    store.wait([], SHORT)
    store.multi_set([], [])


def test_multi_set_wants_a_value_for_each_key(store):
    with pytest.raises(UsageError, match="2 keys, but 1 values"):
        store.multi_set(["a", "b"], ["1"])


def test_long_keys_and_values_are_taken_up_to_a_limit(store):
    store.set("k" * (MAX_KEY // 2), b"v" * MAX_VALUE)
    assert store.get("k" * (MAX_KEY // 2)) == b"v" * MAX_VALUE
    with pytest.raises(UsageError, match="a key of"):
        store.set("k" * (MAX_KEY + 1), "")
    with pytest.raises(UsageError, match="a value of"):
        store.set("a", b"v" * (MAX_VALUE + 1))


def test_any_text_is_a_key(store):
    store.set("Schlüssel/ with\nlines\x00", "1")
    assert store.get("Schlüssel/ with\nlines\x00") == b"1"


def test_a_clone_has_the_same_keys(store):
    store.set("a", "1")
    assert store.clone().get("a") == b"1"


def test_prefixes_keep_jobs_apart():
    store = HashStore(SHORT)
    one, two = PrefixStore("one", store), PrefixStore("two", store)
    one.set("a", "1")
    two.set("a", "2")
    assert (one.get("a"), two.get("a"), store.get("one/a")) == (b"1", b"2", b"1")
    assert PrefixStore("x", one).underlying_store is one
    one.set_timeout(LONG)
    assert two.timeout == LONG
    one.close()
    assert two.get("a") == b"2"


def test_a_closed_store_says_so(tmp_path):
    for make in (make_file, make_tcp):
        first, second = make(tmp_path)
        second.close()
        with pytest.raises(UsageError, match="closed"):
            second.get("a")
        first.close()
