# SPDX-License-Identifier: Apache-2.0
"""Groups of ClusterShell's in lists of hosts: their names reach a shell command, so none of them may be one."""

from pathlib import Path

import pytest
from ClusterShell.NodeSet import set_std_group_resolver, std_group_resolver
from ClusterShell.NodeUtils import GroupResolver, UpcallGroupSource
from tests.cli.command import railgauge

from railgauge.collectives.launch.hostfile import hosts_from, parse_hostfile
from railgauge.topo.errors import InputError, UsageError

GROUPS = """\
[Main]
default: slurm
[slurm]
map: echo n-$GROUP
all: echo n-p n-q
list: echo p q
"""
INJECTIONS = (
    "@slurm:p;touch${IFS}x",
    "@p;touch${IFS}x",
    "@slurm:$(touch${IFS}x)",
    "@slurm:`touch${IFS}x`",
    "@slurm:p|touch${IFS}x",
    "@slurm:p>x",
    "@slurm:>x",
    "@p!@slurm:p>x",
    "@p>x[1-2]",
    "@slurm:-p",
    "@;reboot",
    "@slurm:$HOME",
)


@pytest.fixture
def groups(tmp_path):
    """ClusterShell's configuration with a source of groups like its own example for Slurm's partitions."""
    (tmp_path / "groups.conf").write_text(GROUPS)
    return tmp_path


@pytest.fixture
def source(tmp_path):
    """The same source for this process."""
    before = std_group_resolver()
    upcalls = {"map_upcall": "echo n-$GROUP", "all_upcall": "echo n-p n-q", "list_upcall": "echo p q"}
    set_std_group_resolver(GroupResolver(UpcallGroupSource("slurm", cfgdir=str(tmp_path), **upcalls)))
    yield tmp_path
    set_std_group_resolver(before)


def test_groups_are_their_hosts(source):
    assert [host.address for host in hosts_from("@slurm:rack-1.a_b")] == ["n-rack-1.a_b"]
    assert [host.address for host in hosts_from("@p[1-3]!@p2")] == ["n-p1", "n-p3"]
    assert [host.address for host in hosts_from("@*")] == ["n-p", "n-q"]
    assert [host.address for host in hosts_from("@slurm:*")] == ["n-p", "n-q"]
    assert list(source.iterdir()) == []


def test_a_group_is_named_with_its_source(source):
    with pytest.raises(InputError, match=r"f:1: @slurm:p>x: "):
        parse_hostfile("@slurm:p>x\n", "f")


@pytest.mark.parametrize("text", INJECTIONS)
def test_no_group_is_a_command(source, text):
    with pytest.raises(UsageError, match="letters, digits"):
        hosts_from(text)
    with pytest.raises(InputError, match=r"f:2: .*letters, digits"):
        parse_hostfile(f"gpu1\n{text} slots=2\n", "f")
    assert list(source.iterdir()) == []


def test_nor_is_a_group_that_a_group_names(tmp_path):
    before = std_group_resolver()
    named = UpcallGroupSource("slurm", map_upcall="echo '@p>x'; : $GROUP", cfgdir=str(tmp_path))
    set_std_group_resolver(GroupResolver(named))
    try:
        with pytest.raises(UsageError, match="letters, digits"):
            hosts_from("@q")
    finally:
        set_std_group_resolver(before)
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_cannot_be_asked_is_an_error_of_the_list(tmp_path):
    before = std_group_resolver()
    set_std_group_resolver(GroupResolver(UpcallGroupSource("slurm", list_upcall="echo p", cfgdir=str(tmp_path))))
    try:
        with pytest.raises(UsageError, match="@p: "):
            hosts_from("@p")
    finally:
        set_std_group_resolver(before)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("run", "all_reduce", "--launcher", "ssh", "--dry-run", "--hosts", INJECTIONS[0]), 2),
        (("run", "all_reduce", "--launcher", "ssh", "--dry-run", "--hostfile", "hosts"), 5),
        (("cluster", "dump", "-w", INJECTIONS[0]), 2),
        (("cluster", "dump", "--hostfile", "hosts"), 5),
    ],
)
def test_no_command_of_railgauge_runs_one(groups, tmp_path, monkeypatch, arguments, status):
    monkeypatch.chdir(tmp_path)
    Path("hosts").write_text(f"{INJECTIONS[0]}\n")
    ended = railgauge(*arguments, CLUSTERSHELL_CFGDIR=str(groups))
    assert ended.returncode == status, ended.stderr
    assert "letters, digits" in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["groups.conf", "hosts"]


def test_one_module_alone_calls_nodeset():
    root = Path(__file__).parents[3]
    files = [path for folder in ("topo", "transports", "collectives", "cli") for path in (root / folder).rglob("*.py")]
    assert len(files) > 500
    callers = {path.relative_to(root).as_posix() for path in files if "ClusterShell.NodeSet" in path.read_text()}
    assert callers == {"topo/values/node_names.py"}
