# SPDX-License-Identifier: Apache-2.0
"""One command on many hosts: bytes, limits, and what is said of a host that does not answer. ssh is a script here;
test_ssh.py has the real one.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.launch import remote
from railgauge.collectives.launch.remote import run_on, ssh_command
from railgauge.topo.errors import UnavailableError, UsageError

FAKE_SSH = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
case $host in down*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255;; esac
export HOST=$host; exec sh -c "$*"
"""


@pytest.fixture(autouse=True)
def ssh_is_a_script(tmp_path, monkeypatch):
    script = tmp_path / "ssh"
    script.write_text(FAKE_SSH)
    script.chmod(0o755)
    monkeypatch.setenv("RAILGAUGE_SSH", str(script))


def test_any_bytes_come_back_as_they_were():
    data = bytes(range(256)) * 4000 + b"\r\n\n"
    results = run_on([f"node{i}" for i in range(10)], ["cat"], timeout_s=20, stdin=data, fanout=3)
    assert list(results) == [f"node{i}" for i in range(10)]
    assert all((r.status, r.stdout, r.stderr, r.reason) == (0, data, "", None) for r in results.values())


def test_hosts_are_what_was_said_also_addresses_and_users():
    nodes = ["user@gpu-01", "10.0.0.1", "fd77::1", "gpu001"]
    results = run_on(nodes, ["sh", "-c", "echo $HOST"], timeout_s=20)
    assert {node: result.stdout for node, result in results.items()} == {n: f"{n}\n".encode() for n in nodes}


def test_thousands_of_names_that_make_no_range_are_no_work_before_the_first_is_asked():
    class Enough(Exception):
        """Ends the test."""

    def on_done(node, result):
        raise Enough

    with pytest.raises(Enough):
        run_on([f"host-{i}-x{7 * i}" for i in range(20_000)], ["true"], timeout_s=20, fanout=1, on_done=on_done)


def test_words_arrive_as_they_are_whatever_a_shell_would_make_of_them():
    words = ["a b", "$HOME", "`id`", "it's", '"', "*", ";", "\\", "", "new\nline", "ä"]
    result = run_on(["node"], ["printf", "%s|", *words], timeout_s=20)["node"]
    assert result.stdout.decode() == "".join(f"{word}|" for word in words)


def test_a_status_an_error_text_and_a_host_that_is_not_there_are_told():
    done = []
    command = ["sh", "-c", "echo oops >&2; exit 3"]
    results = run_on(["up", "down"], command, timeout_s=20, on_done=lambda node, _: done.append(node))
    assert sorted(done) == ["down", "up"]
    assert (results["up"].status, results["up"].stderr, results["up"].reason) == (3, "oops\n", None)
    assert results["down"].status is None
    assert results["down"].reason == "ssh: connect to host down port 22: Connection refused"


def test_a_command_that_does_not_end_is_ended_and_so_it_is_on_the_host(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "KILL_AFTER_S", 1)
    pid = tmp_path / "pid"
    result = run_on(["node"], ["sh", "-c", f"trap '' TERM; echo $$ > {pid}; sleep 50; sleep 50"], timeout_s=1)["node"]
    assert (result.status, result.reason) == (None, "not finished within 1 s")
    wait_until_gone(pid.read_text())


def test_a_host_that_sends_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(remote, "MOST_OUTPUT", 1 << 20)
    results = run_on(["a", "b"], ["cat", "/dev/zero"], timeout_s=40)
    assert [result.reason for result in results.values()] == ["it sent more than 1 MiB"] * 2


@pytest.mark.parametrize("to", ["", ">&2"])
def test_eight_mebibytes_of_a_host_are_enough(to):
    flood = ["sh", "-c", f"head -c {(8 << 20) + 1} /dev/zero {to}"]
    results = run_on(["a", "b"], flood, timeout_s=40)
    assert [result.reason for result in results.values()] == ["it sent more than 8 MiB"] * 2


def test_long_output_waits_in_the_folder_for_who_needs_more(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "MOST_IN_MEMORY", 4096)
    made = []
    whole = tempfile.SpooledTemporaryFile

    def spooled(*how, **more):
        made.append(whole(*how, **more))
        return made[-1]

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", spooled)
    sent = b"".join(b"%07d\n" % n for n in range(9 << 17))
    (tmp_path / "folder").mkdir()
    (tmp_path / "sent").write_bytes(sent)
    room = {"most_output": 10 << 20, "folder": str(tmp_path / "folder")}
    got = run_on(["a"], ["cat", str(tmp_path / "sent")], timeout_s=40, **room)
    assert got["a"].stdout == sent
    assert [file._rolled for file in made] == [True]
    assert list((tmp_path / "folder").iterdir()) == []


def test_of_a_hosts_line_a_message_has_the_beginning():
    says = "echo first >&2; head -c 50000 /dev/zero | tr '\\0' x >&2; echo >&2"
    assert run_on(["a"], ["sh", "-c", f"{says}; exit 255"], timeout_s=40)["a"].reason == "ssh: " + 200 * "x"
    assert run_on(["a"], ["sh", "-c", f"{says}; exit 3"], timeout_s=40)["a"].last_words == 200 * "x"


@pytest.mark.parametrize("text", ["'", " ", "ssh '"])
def test_an_ssh_that_is_no_command_is_said(monkeypatch, text):
    monkeypatch.setenv("RAILGAUGE_SSH", text)
    with pytest.raises(UsageError, match=r"RAILGAUGE_SSH=.*is not a command"):
        ssh_command("node", ["true"], 5.0)


class Conversation(remote.Listener):
    """Tells all hosts what each said first, and then that it is over."""

    def __init__(self, count):
        super().__init__()
        self.count, self.said, self.woken, self.statuses = count, [], 0, []

    def began(self, line):
        self.line = line
        line.call(0.0, self.wake)
        line.call(40.0, self.wake)

    def wake(self):
        self.woken += 1

    def output(self, node, stream, data):
        self.said += data.split()
        if len(self.said) == self.count:
            self.line.tell(b" ".join(sorted(self.said)) + b"\n")
        elif len(self.said) == self.count + self.count**2:
            self.line.hang_up()
        return True

    def ended(self, node, status):
        self.statuses.append(status)


def test_hosts_can_be_told_what_the_others_said():
    conversation = Conversation(3)
    script = "echo $HOST; read all; echo $all; cat; exit 7"
    commands = {f"n{i}": ssh_command(f"n{i}", ["sh", "-c", script], 20) for i in range(3)}
    remote.converse(commands, conversation, timeout_s=20, fanout=3, hold_stdin=True)
    assert sorted(conversation.said) == sorted([b"n0", b"n1", b"n2"] * 4)
    assert (conversation.woken, conversation.statuses) == (1, [7, 7, 7])


def test_a_command_that_does_not_read_its_input_is_no_error():
    assert run_on(["node"], ["true"], timeout_s=20, stdin=bytes(1 << 20))["node"].status == 0


@pytest.mark.parametrize("node", ["-oProxyCommand=id", "a b", "$(id)", "a;id", "", "-l@host", "u@-host"])
def test_what_is_no_host_is_never_handed_to_ssh(node):
    with pytest.raises(UsageError, match="is not a host"):
        run_on([node], ["true"], timeout_s=5)


def test_ssh_never_asks_and_gives_up():
    command = ssh_command("gpu-01", ["echo", "a b"], 60)
    assert command[-2:] == ["gpu-01", "echo 'a b'"]
    assert {"-T", "-oBatchMode=yes", "-oConnectTimeout=10"} < set(command)


@pytest.mark.parametrize(("timeout_s", "connect", "alive"), [(60, 10, 15), (20, 10, 7), (3, 3, 1), (0.5, 1, 1)])
def test_a_host_that_answers_nothing_is_given_up_within_the_timeout(timeout_s, connect, alive):
    options = {f"-oConnectTimeout={connect}", f"-oServerAliveInterval={alive}", "-oServerAliveCountMax=3"}
    assert options < set(ssh_command("gpu-01", ["true"], timeout_s))


def test_output_that_was_handed_on_is_not_kept():
    handed = {}
    results = run_on(
        ["a", "b"], ["echo", "hello"], timeout_s=20, on_done=lambda node, result: handed.update({node: result.stdout})
    )
    assert handed == {"a": b"hello\n", "b": b"hello\n"}
    assert [result.stdout for result in results.values()] == [b"", b""]


def test_no_ssh_is_named(monkeypatch):
    monkeypatch.setenv("RAILGAUGE_SSH", "no-such-ssh -v")
    with pytest.raises(UnavailableError, match="no-such-ssh"):
        run_on(["node"], ["true"], timeout_s=5)


def test_an_interrupt_ends_the_wait_and_the_command_ends_with_its_time(tmp_path):
    pid = tmp_path / "pid"
    program = (
        "from railgauge.collectives.launch.remote import run_on\n"
        f"run_on(['node'], ['sh', '-c', 'echo $$ > {pid}; exec sleep 50'], timeout_s=3)\n"
    )
    asking = subprocess.Popen([sys.executable, "-P", "-c", program], stderr=subprocess.PIPE)
    with asking:
        while not (pid.exists() and pid.read_text().strip()):
            time.sleep(0.05)
        asking.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in asking.communicate(timeout=HANGS_AFTER_S)[1]
    wait_until_gone(pid.read_text())


def wait_until_gone(pid):
    deadline = time.monotonic() + HANGS_AFTER_S
    while os.path.exists(f"/proc/{pid.strip()}"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
