# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster dump as a user runs it; ssh is a script that runs the command here, but for the last test."""

import contextlib
import fcntl
import json
import os
import pty
import stat
import struct
import subprocess
import sys
import termios

import pytest
from tests.cli.command import clean_environment, command, in_process, railgauge
from tests.cli.test_schemas import check
from tests.hosts.netns import make_hosts
from tests.hosts.sshd import sshd_on
from tests.topo.findings.cluster.fleets import changed, usual, write

from railgauge.cli.cluster.gather import MARK
from railgauge.topo.facts.capture import loads

X8 = '[files]\n"/sys/bus/pci/devices/0000:40:00.0/current_link_width" = "8"'
FAKE_SSH = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
case $host in
down*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255;;
slow*) exec sleep 60;;
bare*) exit 127;;
loud*) echo Welcome; printf 'no newline'; trap 'echo bye' EXIT; sh -c "$*"; exit;;
ends*) echo Maintenance; exit 0;;
odd*) export NCCL_IB_HCA=mlx5_0;;
esac
exec sh -c "$*"
"""


@pytest.fixture
def ssh(tmp_path):
    script = tmp_path / "ssh"
    script.write_text(FAKE_SSH)
    script.chmod(0o755)
    return {"RAILGAUGE_SSH": str(script)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixteen nodes of which one is odd, and one is not readable."""
    place = tmp_path_factory.mktemp("cluster")
    for number in range(1, 17):
        write(place, f"gpu-{number:02}", changed(X8) if number == 3 else usual())
    (place / "gpu-17.tar.gz").write_bytes(b"\x1f\x8b")
    return str(place)


def dump(*arguments, status=0, **env):
    answers = railgauge if "RAILGAUGE_SSH" in env else in_process
    done = answers("cluster", "dump", *arguments, **env)
    assert done.returncode == status, done.stderr
    return done


def test_what_was_gathered_before_stays_where_it_cannot_be_replaced(ssh, tmp_path):
    """Its mode too; and a link of another user in a folder that all may write to leads nowhere."""
    for name in ("node1.tar.zst", "node1.tar.gz"):
        (tmp_path / name).write_bytes(b"old")
        (tmp_path / name).chmod(0o600)
    dump("-w", "node1", "-o", str(tmp_path), **ssh)
    taken = [one for one in tmp_path.iterdir() if one.name.startswith("node1") and one.read_bytes() != b"old"]
    assert [stat.S_IMODE(one.stat().st_mode) for one in taken] == [0o600]
    if os.geteuid() == 0:
        tmp_path.chmod(0o1777)
        old = taken[0]
        (tmp_path / "precious").write_bytes(b"old")
        old.unlink()
        old.symlink_to(tmp_path / "precious")
        os.lchown(old, 65534, 65534)
        assert "link of another user" in dump("-w", "node1", "-o", str(tmp_path), status=3, **ssh).stderr
        assert (tmp_path / "precious").read_bytes() == b"old"


def test_the_odd_one_is_named_with_what_differs_and_the_votes(folder):
    lines = dump("--from", folder).stdout.splitlines()
    assert lines[0] == "16 nodes read, 1 not"
    assert lines[1] == "gpu-[01-16]: 8 x NVIDIA H100 80GB HBM3, 12 NICs, 2 NUMA nodes, DGXH100"
    assert lines[2] == "  15 of 16 are equal"
    assert lines[3].split(None, 1) == ["gpu-03", "NIC mlx5_3 (0000:40:00.0): x8, 15 of 16 nodes x16"]
    assert lines[4].split()[0] == "gpu-17"


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_the_names_of_files_do_not_steer_the_terminal(tmp_path, as_json):
    for name in (b"a\x1b[31m\nb", b"\xff"):
        (tmp_path / os.fsdecode(name + b".tar.zst")).touch()
    lines = dump("--from", str(tmp_path), *as_json, status=5).stdout.splitlines()
    assert all(line.isprintable() for line in lines)
    assert as_json or lines[1].split()[0] == "a\ufffd[31m\ufffdb,\ufffd"


@pytest.mark.parametrize(("level", "status"), [("WARN", 1), ("UNKNOWN", 1), ("FAIL", 0)])
def test_fail_on_decides_what_a_difference_is_worth(folder, level, status):
    dump("--from", folder, "--fail-on", level, status=status)


def test_document_is_as_its_schema_says(folder):
    document = json.loads(dump("--from", folder, "--json").stdout)
    check("cluster", document)
    assert [one["node"] for one in document["differences"]] == ["gpu-03"]
    assert document["differences"][0] | {"message": ""} == {
        "node": "gpu-03",
        "what": "width",
        "subject": "0000:40:00.0",
        "value": "x8",
        "majority": "x16",
        "votes": 15,
        "of": 16,
        "message": "",
    }
    assert [one["nodes"] for one in document["unreachable"]] == ["gpu-17"]
    assert document["groups"][0]["equal"][0] == {"nodes": "gpu-[01-02,04-16]", "count": 15}


def test_a_split_is_as_its_schema_says(tmp_path):
    for number in (1, 2):
        write(tmp_path, f"n{number}", changed(X8) if number == 1 else usual())
    document = json.loads(dump("--from", str(tmp_path), "--json").stdout)
    check("cluster", document)
    assert document["differences"] == []
    assert document["splits"][0]["values"] == [
        {"value": "x8", "nodes": "n1", "count": 1},
        {"value": "x16", "nodes": "n2", "count": 1},
    ]


def test_nodes_are_asked_by_ssh_and_failures_are_told(ssh, tmp_path):
    kept = tmp_path / "kept"
    done = dump("-w", "up[1-3],odd4,down[5-6],bare8", "-o", str(kept), **ssh)
    assert sorted(path.name for path in kept.iterdir()) == [f"{name}.tar.zst" for name in ("odd4", "up1", "up2", "up3")]
    told = [line.split(None, 1) for line in done.stdout.splitlines()]
    assert ["odd4", "NCCL_IB_HCA mlx5_0, 3 of 4 nodes not set"] in told
    assert ["down[5-6]", "ssh: connect to host port 22: Connection refused"] in told
    assert any(names == "bare8" and reason.startswith("railgauge is not installed there") for names, reason in told)
    assert "odd4  NCCL_IB_HCA" in dump("--from", str(kept)).stdout


def test_a_node_that_does_not_answer_in_time_is_told(ssh):
    told = dump("-w", "slow7,down5", "--timeout", "1", status=3, **ssh).stdout.splitlines()
    assert ["slow7", "not finished within 1 s"] in [line.split(None, 1) for line in told]


def test_what_login_scripts_print_is_cut_off_and_said(ssh, tmp_path):
    kept = tmp_path / "kept"
    done = dump("-w", "loud[1-2],up3,ends4", "--capture", "--topo", "-o", str(kept), **ssh)
    assert len({path.read_bytes() for path in kept.glob("*.xml")}) == 1
    assert sorted(path.name for path in kept.glob("*.zst")) == ["loud1.tar.zst", "loud2.tar.zst", "up3.tar.zst"]
    assert "3 nodes read, 1 not" in done.stdout
    assert "loud[1-2]: a login script prints to stdout; its output was removed" in done.stderr
    assert "ends4  the command did not run: does a login script exit the shell?" in done.stdout


def test_topology_files_are_gathered_too(ssh, tmp_path):
    dump("-w", "n[1-2]", "--topo", "--capture", "-o", str(tmp_path / "kept"), **ssh)
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert names == {"n1.tar.zst", "n2.tar.zst", "n1.xml", "n2.xml"}
    dump("-w", "n[1-2]", "--topo", "-o", str(tmp_path / "files"), **ssh)
    assert {path.name for path in (tmp_path / "files").iterdir()} == {"n1.xml", "n2.xml"}


def test_the_nodes_of_a_hostfile_and_of_an_allocation(ssh, tmp_path):
    hostfile = tmp_path / "hosts"
    hostfile.write_text("a1 slots=8\na2 slots=8\n")
    assert dump("--hostfile", str(hostfile), **ssh).stdout.startswith("2 nodes read\na[1-2]:")
    assert dump(**ssh, SLURM_JOB_NODELIST="b[1-2]").stdout.startswith("2 nodes read\nb[1-2]:")


def test_without_any_answer_there_is_nothing_to_report(ssh):
    done = dump("-w", "down[1-2]", status=3, **ssh)
    assert done.stdout.splitlines() == [
        "0 nodes read, 2 not",
        "  down[1-2]  ssh: connect to host port 22: Connection refused",
        "only inventory was compared: railgauge cluster check looks for faults",
    ]


def test_without_any_readable_file_the_input_is_bad(tmp_path):
    (tmp_path / "n1.xml").write_text("<")
    dump("--from", str(tmp_path), status=5)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 2, "no nodes given"),
        (("-w", "a", "--hostfile", "b"), 2, "both name the nodes"),
        (("--from", "x", "-w", "a"), 2, "leave -w"),
        (("-w", "-oProxyCommand=id"), 2, "is not a host"),
        (("-w", "a;id"), 2, "is not a host"),
        (("--from", "/nonexistent"), 5, "No such file"),
        (("--hostfile", "/nonexistent"), 5, "/nonexistent"),
        (("-w", "a", "-o", "/proc/nowhere"), 3, "cannot create the folder"),
        (("-w", "a", "--timeout", "inf"), 2, "--timeout"),
        (("-w", "a", "--timeout", "nan"), 2, "--timeout"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, status, said):
    done = dump(*arguments, status=status, SLURM_JOB_NODELIST="")
    assert said in done.stderr
    assert done.stdout == ""


def on_a_terminal(*arguments, width, **env):
    """What the command shows on a terminal of that width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = clean_environment(TERM="xterm", **env)
    shown = bytearray()
    with subprocess.Popen(
        command("cluster", "dump", *arguments), stdin=follower, stdout=follower, stderr=follower, env=environment
    ):
        os.close(follower)
        with contextlib.suppress(OSError):  # the kernel's word for an end here
            while data := os.read(leader, 65536):
                shown += data
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_on_a_terminal_lines_fit_and_the_odd_one_stands_out(folder, width):
    shown = on_a_terminal("--from", folder, width=width)
    assert "\x1b[1;33m  gpu-03" in shown
    plain = on_a_terminal("--from", folder, width=width, NO_COLOR="1")
    report = plain[plain.index("16 nodes read") :]
    assert "\x1b[1" not in report
    assert all(len(line) <= width for line in report.splitlines())


def test_real_ssh_reaches_real_hosts(tmp_path):
    with make_hosts(3) as hosts, sshd_on(hosts, tmp_path) as environ:
        names = ",".join(hosts.names[1:]) + ",rg-node9"
        arguments = command("cluster", "dump", "-w", names, "-o", str(tmp_path / "kept"), "--json", "--timeout", "30")
        done = hosts.run(0, arguments, env=environ)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["nodes"] == hosts.names[1:]
        assert document["differences"] == document["splits"] == []
        assert [one["nodes"] for one in document["unreachable"]] == ["rg-node9"]
        assert "resolve" in document["unreachable"][0]["reason"]


@pytest.fixture
def bare_ssh(tmp_path):
    """ssh to nodes with a Python alone, which keeps what it is started with in `used`."""
    (tmp_path / "python3").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/used\nexec {sys.executable} "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    mark = MARK.decode().strip()
    (tmp_path / "ssh").write_text(f"""\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
case $host in
bare*) exit 127;;
fail*) echo "no memory" >&2; exit 4;;
junk*) printf '{mark}\\njunk\\n{mark}\\n'; exit 0;;
loud*) echo Welcome;;
esac
exec env -i NCCL_IB_HCA=mlx5_0 PATH={tmp_path}:/usr/bin:/bin sh -c "$*"
""")
    (tmp_path / "ssh").chmod(0o755)
    return {"RAILGAUGE_SSH": str(tmp_path / "ssh")}


def test_nodes_without_railgauge_are_captured_by_a_collector(tmp_path, bare_ssh):
    """By the node's own Python, with its standard library alone; what is no capture is no node's file."""
    kept = tmp_path / "kept"
    done = dump("-w", "up1,loud2,bare3,junk4,fail5", "-o", str(kept), "--ssh-collector", **bare_ssh)
    assert sorted(path.name for path in kept.iterdir()) == ["loud2.tar.zst", "up1.tar.zst"]
    told = [line.split(None, 1) for line in done.stdout.splitlines()]
    assert any(names == "bare3" and reason.startswith("no Python 3.10 or newer is there") for names, reason in told)
    assert ["fail5", "the collector ended with status 4: no memory"] in told
    assert any(names == "junk4" and "not a capture" in reason for names, reason in told)
    assert "-I -S -c import os, sys" in (tmp_path / "used").read_text()
    settings = loads((kept / "up1.tar.zst").read_bytes(), "up1").facts["settings"]
    assert settings["environment"] == {"NCCL_IB_HCA": "mlx5_0"}


def test_a_check_by_a_collector_connects_no_nodes(tmp_path, bare_ssh):
    done = railgauge("cluster", "check", "-w", "up1,up2", "--only", "rail-unreachable", "--ssh-collector", **bare_ssh)
    assert "UNKNOWN up[1-2] (all 2 nodes): rail-unreachable: captures do not show" in done.stdout, done.stderr
    assert "probe" not in (tmp_path / "used").read_text()


def test_a_job_captures_without_a_collector():
    job = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    done = in_process("cluster", "check", "--ssh-collector", **job)
    assert (done.returncode, "name the nodes with -w" in done.stderr) == (2, True)


@pytest.mark.parametrize("option", [("--topo", "-w", "n1"), ("--from", ".")])
def test_what_a_collector_cannot_do_is_refused(option):
    assert "--ssh-collector" in dump("--ssh-collector", *option, status=2).stderr
