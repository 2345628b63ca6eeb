# SPDX-License-Identifier: Apache-2.0
"""What is missing on a host is named before anything starts: one line each, exit status 3."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hosts.netns import make_hosts
from tests.hosts.sshd import sshd_on
from tests.hosts.waiting import until
from tests.patience import HANGS_AFTER_S

from railgauge import __version__
from railgauge.collectives.launch import probe
from railgauge.collectives.launch.hostfile import hosts_from
from railgauge.collectives.launch.launch import Launch
from railgauge.collectives.launch.preflight import check, problems
from railgauge.collectives.launch.remote import RemoteResult
from railgauge.topo.errors import UnavailableError

RUN = [sys.executable, "-P", "-m", "railgauge", "run", "all_reduce", "-b", "8", "-e", "8", "--launcher", "ssh"]

FAKE_SSH = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
case $host in
*down) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255;;
*old) cat >/dev/null; echo 'Welcome!'; echo '{"version": "0.0.1", "problems": {}}';;
*absent) exec /no/such/python;;
*) exec sh -c "$*";;
esac
"""


def answered(stdout=b"", status=0, stderr=""):
    return RemoteResult(status, stdout, stderr, None)


def test_a_host_that_has_all_is_no_problem():
    assert problems("node", answered(b'Welcome!\n{"version": "%s", "problems": {}}\n' % __version__.encode())) == []


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (RemoteResult(None, b"", "", "ssh: u@h: Permission denied (publickey)."), ("Permission denied", "ssh-copy-id")),
        (RemoteResult(None, b"", "", "ssh: Host key verification failed."), ("log in once by hand",)),
        (RemoteResult(None, b"", "", "not finished within 30 s"), ("not finished within 30 s",)),
        (answered(status=127), (sys.executable, "same path")),
        (answered(status=1, stderr="boom\nSyntaxError: x\n"), ("status 1", "SyntaxError: x")),
        (answered(b'{"version": null, "problems": {}}'), ("no railgauge", __version__)),
        (answered(b'{"version": "0.0.1", "problems": {}}'), ("0.0.1 there", f"{__version__} here")),
        (answered(b"This account is not available.\n"), ("This account is not available",)),
        (answered(b""), ("nothing",)),
        (answered(b"[1, 2]"), ("answered",)),
        (answered(b'{"version": "1", "problems": 3}'), ("answered",)),
    ],
)
def test_each_lack_is_named(result, words):
    (problem,) = problems("h", result)
    assert "\n" not in problem
    for word in words:
        assert word in problem


@pytest.fixture
def scripted_ssh(tmp_path, monkeypatch):
    script = tmp_path / "ssh"
    script.write_text(FAKE_SSH)
    script.chmod(0o755)
    monkeypatch.setenv("RAILGAUGE_SSH", str(script))


@pytest.mark.usefixtures("scripted_ssh")
def test_equal_hosts_are_folded_and_all_lacks_come_at_once():
    with pytest.raises(UnavailableError) as raised:
        check(
            Launch(argv=["run"], processes=5, hosts=hosts_from("localhost,n[1-2]down,n[1-2]old,nabsent")), "localhost"
        )
    lines = str(raised.value).splitlines()
    assert lines[0] == "not all of the 6 hosts are ready:"
    assert [line.split(":")[0] for line in sorted(lines[1:])] == ["  n[1-2]down", "  n[1-2]old", "  nabsent"]


@pytest.mark.usefixtures("scripted_ssh")
def test_the_first_hosts_name_has_to_be_known_on_the_others():
    with pytest.raises(UnavailableError, match=r"localhost.*: no-such-host\.invalid: Name"):
        check(
            Launch(argv=["run"], processes=2, hosts=hosts_from("no-such-host.invalid,localhost")),
            "no-such-host.invalid",
        )


@pytest.mark.usefixtures("scripted_ssh")
def test_the_folder_of_a_rendezvous_file_has_to_be_there(tmp_path):
    hosts = hosts_from("localhost,127.0.0.1")
    check(Launch(argv=["run"], init_method=f"file://{tmp_path}/meet", processes=2, hosts=hosts), "localhost")
    assert not list(tmp_path.glob(".railgauge*"))
    with pytest.raises(UnavailableError, match="/no/such/folder: No such file"):
        check(Launch(argv=["run"], init_method="file:///no/such/folder/meet", processes=2, hosts=hosts), "localhost")


def test_a_probe_tells_a_lock_that_is_seen_from_one_that_is_not(tmp_path):
    held, free, absent = tmp_path / "held", tmp_path / "free", tmp_path / "absent"
    held.touch()
    free.touch()
    question = {"names": ["127.0.0.1"], "locked": [str(held), str(free), str(absent)]}
    with held.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        asked = subprocess.run(
            [sys.executable, "-P", "-", json.dumps(question)],
            input=Path(probe.__file__).read_text(), capture_output=True, text=True, timeout=HANGS_AFTER_S, check=True,
        )  # fmt: skip
    assert json.loads(asked.stdout) == {
        "version": __version__,
        "problems": {
            str(free): "a lock of one host is not seen by another",
            str(absent): "No such file or directory",
        },
    }


def test_when_the_preflight_is_ended_nothing_of_it_is_left(tmp_path):
    script, pids = tmp_path / "ssh", tmp_path / "pids"
    script.write_text(f"#!/bin/sh\necho $$ >> {pids}\nexec sleep 50\n")
    script.chmod(0o755)
    asked = ["--hosts", "gpu-01,gpu-02", "--init-method", f"file://{tmp_path}/meet"]
    with subprocess.Popen([*RUN, *asked], env=os.environ | {"RAILGAUGE_SSH": str(script)}) as launcher:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        assert list(tmp_path.glob(".railgauge-preflight-*"))
        launcher.terminate()
        assert launcher.wait(HANGS_AFTER_S) == 143
    assert not list(tmp_path.glob(".railgauge-preflight-*"))
    until(lambda: not any(Path("/proc", pid).exists() for pid in pids.read_text().split()))


def test_hosts_that_cannot_be_logged_in_to_are_named_and_nothing_starts(tmp_path):
    with make_hosts(2) as hosts, sshd_on(hosts, tmp_path) as environ:
        (tmp_path / "authorized_keys").write_text("")
        ran = hosts.run(0, [*RUN, "--hosts", "rg-node1,rg-node2,rg-node9"], env=environ)
        assert ran.returncode == 3
        assert ran.stdout == ""
        assert "rg-node[1-2]: ssh: root@HOST: Permission denied (publickey) (login without a password" in ran.stderr
        assert "rg-node9: ssh: Could not resolve hostname HOST: " in ran.stderr
        assert not any("ssh_host" in Path(f"/proc/{pid}/cmdline").read_text() for pid in hosts.pids(1))
