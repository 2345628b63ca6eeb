# SPDX-License-Identifier: Apache-2.0
"""Hostfiles as people write them, lists of hosts, and how processes fill them."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from railgauge.collectives.launch.hostfile import Host, check_destination, fill, hosts_from, load, parse_hostfile
from railgauge.topo.errors import InputError, UsageError


def slots(text: str) -> dict[str, int]:
    return {host.destination: host.slots for host in parse_hostfile(text, "mpi_hosts")}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("10.0.0.1 slots=4", {"10.0.0.1": 4}),
        ("gpu-01 slots=4 max_slots=8", {"gpu-01": 4}),
        ("gpu-01 slots = 4  max-slots = 8", {"gpu-01": 4}),
        ("gpu-01:4", {"gpu-01": 4}),
        ("gpu-01", {"gpu-01": 1}),
        ("gpu-01\tslots=2\t# the first", {"gpu-01": 2}),
        ("gpu-01 slots=2#close", {"gpu-01": 2}),
        ("  gpu-01  ", {"gpu-01": 1}),
        ("gpu-01,gpu-02:3", {"gpu-01": 1, "gpu-02": 3}),
        ("gpu[08-10] slots=2", {"gpu08": 2, "gpu09": 2, "gpu10": 2}),
        ("[fd77::1]:4", {"fd77::1": 4}),
        ("[fd77::1] slots=4", {"fd77::1": 4}),
        ("fd77::1 slots=4", {"fd77::1": 4}),
        ("root@gpu-01:2", {"root@gpu-01": 2}),
        ("root@[fd77::1]:2", {"root@fd77::1": 2}),
        ("gpu-01 slots=2 user=me", {"me@gpu-01": 2}),
    ],
)
def test_a_line_of_open_mpi_or_mpich_is_read(line, expected):
    assert slots(line) == expected


def test_the_file_of_the_issue_is_read():
    text = "\ufeff# hosts of the job\r\n\r\n10.0.0.1 slots=4   # first\r\n10.0.0.2\tgpu-02 gpu02 slots=4\r\nhost:4\r\n"
    assert parse_hostfile(text, "f") == [
        Host("10.0.0.1", 4),
        Host("10.0.0.2", 4, aliases=("gpu-02", "gpu02")),
        Host("host", 4),
    ]


def test_a_host_that_comes_again_adds_its_slots_also_by_another_name():
    assert slots("gpu-01 slots=2\ngpu-02\ngpu-01 slots=3") == {"gpu-01": 5, "gpu-02": 1}
    assert slots("10.0.0.1 gpu-01 slots=2\ngpu-01 slots=2") == {"10.0.0.1": 4}
    assert slots("gpu-01 slots=2\n10.0.0.1 gpu-01 slots=2") == {"gpu-01": 4}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("+n0 slots=2", "relative"),
        ("^gpu-01", "leave the host out"),
        ("rank 0=gpu-01 slot=0", "rankfile"),
        ("slots=4", "starts with its host"),
        ("gpu-01 slots=0", "from 1"),
        ("gpu-01 slots=-1", "from 1"),
        ("gpu-01 slots=four", "from 1"),
        ("gpu-01 slots=", "from 1"),
        ("gpu-01 slots=99999999999999999999", "from 1"),
        ("gpu-01:4 slots=2", "twice"),
        ("gpu-01:", "from 1"),
        ("[fd77::1]:", "from 1"),
        ("gpu-01 gpus=4", "gpus=4"),
        ("gpu-01 gpu-02 gpu-03", "is this one host, or several"),
        ("gpu-01,gpu-02 alias slots=4", "is this one host, or several"),
        ("-oProxyCommand=id slots=2", "starts with its host"),
        ("-F slots=2", "not a host"),
        ("$(id) slots=2", "not a host"),
        ("gpu-01;id", "not a host"),
        ("10.0.0.1 -oX slots=2", "not a host"),
        ("-l@gpu-01", "not a host"),
        ("gpu[1-4 slots=2", "gpu[1-4"),
        ("gpu[1-999999999] slots=2", "more than 100000 hosts"),
        ("r[1-1000]n[1-1000]", "more than 100000 hosts"),
        ("gpu-01 user=-l", "user=-l"),
    ],
)
def test_a_line_that_is_none_is_named_with_its_place(line, word):
    with pytest.raises(InputError) as raised:
        parse_hostfile(f"# first\n{line}\n", "mpi_hosts")
    assert str(raised.value).startswith("mpi_hosts:2: ")
    assert word in str(raised.value)


def test_a_file_that_is_none_is_named(tmp_path):
    for name, content in {"empty": b"# none\n", "binary": b"\xff\xfe\x00", "large": b"#" * ((16 << 20) + 1)}.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=str(path)):
            load(str(path))
    with pytest.raises(InputError, match="No such file"):
        load(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="Is a directory"):
        load(str(tmp_path))


def test_a_list_takes_ranges_commas_and_slots():
    assert [host.address for host in hosts_from("gpu[001-003],gpu[7,9] login")] == [
        *("gpu001", "gpu002", "gpu003", "gpu7", "gpu9", "login")
    ]
    assert hosts_from("a:2,b") == [Host("a", 2), Host("b", 1)]
    for wrong in ("", " , ", "a;b", "@no-such-group", "-w"):
        with pytest.raises(UsageError):
            hosts_from(wrong)


def test_a_long_list_is_read_in_one_go():
    names = ",".join(f"gpu{n}" for n in range(50_000))
    assert len(hosts_from(names)) == 50_000
    assert len(parse_hostfile(names + " " * 1_000_000 + "slots=2", "f")) == 50_000
    with pytest.raises(UsageError, match="more than 100000"):
        hosts_from(",".join(f"gpu{n}" for n in range(100_001)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n".join(f"node{n}" for n in range(200_000)), "more than 100000 hosts"),
        ("node[1-99999]\n" * 100_000, "named more than 262144 times"),
        (",".join(["same"] * 400_000), "named more than 262144 times"),
        ("node[1-99999999]", "more than 100000 hosts"),
        ("node[1-99999]x[1-99999]y[1-99999]", "more than 100000 hosts"),
        ("node[1-99999,100001-199999]", "more than 100000 hosts"),
        ("node[1-99999]!node[1-99998]", "more than 100000 hosts"),
        ("node999999999[9-10]", "same number of digits"),
        (f"node[1-{'9' * 5000}]", "not a range"),
        ("@rack[1-99999999]", "more than 100000 hosts"),
        ("@rack1!node[1-99999999]", "more than 100000 hosts"),
        ("[" * (1 << 20), "missing bracket"),
        ("a[1]!" * (1 << 20), "characters"),
        ("0" * (1 << 19) + "[", "missing bracket"),
    ],
    ids=range(14),
)
def test_a_hostfile_of_too_many_hosts_is_refused_before_they_are_made(text, words):
    with pytest.raises(InputError, match=r"^f:[0-9]+: .*" + words):
        parse_hostfile(text, "f")


def test_ranges_of_long_numbers_are_hosts():
    assert [host.address for host in hosts_from("gpu[20260001-20260003/2],gpu1[07-08]")] == [
        *("gpu20260001", "gpu20260003", "gpu107", "gpu108")
    ]


def test_processes_fill_slot_by_slot_in_order():
    hosts = [Host("a", 4), Host("b", 4), Host("c", 4)]
    assert fill(hosts, None) == (hosts, None)
    used, remark = fill(hosts, 6)
    assert used == [Host("a", 4), Host("b", 2)]
    assert remark == "-np 6 of 12 slots: 4 on a, 2 on b"


def test_more_processes_than_slots_names_both_numbers_and_the_hosts():
    with pytest.raises(UsageError, match=r"-np 9.*8 slots.*4 on a, 4 on b"):
        fill([Host("a", 4), Host("b", 4)], 9)


@example("@0:")
@given(st.text(alphabet=string.printable, max_size=60))
def test_any_text_is_hosts_or_an_error_and_no_host_is_an_option(text):
    try:
        hosts = parse_hostfile(text, "f")
    except InputError:
        return
    for host in hosts:
        assert check_destination(host.destination) == host.destination
        assert host.destination[0] != "-"
        assert host.slots >= 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=1), st.integers(1, 99))
def test_filling_keeps_the_count_the_order_and_the_slots(entries, processes):
    hosts = parse_hostfile("".join(f"node{n} slots={s}\n" for n, s in entries), "f")
    total = sum(s for _, s in entries)
    assert sum(host.slots for host in hosts) == total
    if processes > total:
        with pytest.raises(UsageError):
            fill(hosts, processes)
        return
    used, _ = fill(hosts, processes)
    assert sum(host.slots for host in used) == processes
    assert [host.address for host in used] == [host.address for host in hosts][: len(used)]
    assert [host.slots for host in used[:-1]] == [host.slots for host in hosts][: len(used) - 1]


def test_a_file_beyond_its_bound_is_no_hostfile(tmp_path):
    (tmp_path / "hosts").write_text("".join(f"n{number}\n" for number in range(2_000_000)))
    with pytest.raises(InputError, match="larger than 16 MiB"):
        load(str(tmp_path / "hosts"))
