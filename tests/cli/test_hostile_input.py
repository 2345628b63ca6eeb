# SPDX-License-Identifier: Apache-2.0
"""Whatever results, files, logs, other hosts and arguments say is text, as in test_hostile_text.py."""

import json
import os
import re

import pytest
from tests.cli.command import in_process, railgauge
from tests.cli.hostile import HOSTILE, IN_XML, SETTINGS, assert_clean, assert_inert, at_terminal


def test_an_older_result_is_text(tmp_path):
    old = tmp_path / "old.json"
    measure = ("run", "all_reduce", "--ranks", "2", "-b", "64", "-e", "64", "-n", "1")
    assert railgauge(*measure, "-o", str(old)).returncode == 0

    def planted(value):
        if isinstance(value, dict):
            return {key: planted(one) if key not in ("schema", "collective") else one for key, one in value.items()}
        if isinstance(value, list):
            return [planted(one) for one in value]
        return f"{value}{HOSTILE}" if isinstance(value, str) else value

    old.write_text(json.dumps(planted(json.loads(old.read_text()))))
    new = [str(tmp_path / f"new.{suffix}") for suffix in ("svg", "html", "csv", "json")]
    files = [word for path in new for word in ("-o", path)]
    run = (*measure, "--compare", str(old))
    done = railgauge(*run, *files)
    assert done.returncode in (0, 1, 2, 4), done.stderr
    assert_clean(done.stdout)
    assert_clean(done.stderr)
    assert_clean(at_terminal(*run)[0], tty=True)
    for path in tmp_path.glob("new.*"):
        assert_inert(path)


NAMED = """\
import socket
socket.gethostname = lambda: {name!r}
"""


@pytest.mark.parametrize(
    ("measure", "suffixes"),
    [
        (("run", "all_reduce", "--ranks", "2", "-b", "64", "-e", "128"), ("svg", "html", "csv", "json")),
        (("link", "--ranks", "2", "-b", "4K"), ("csv", "json")),
    ],
    ids=["run", "link"],
)
def test_results_of_a_host_with_such_a_name_are_inert(measure, suffixes, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(NAMED.format(name=HOSTILE.replace("\0", "")))
    (tmp_path / "out").mkdir()
    files = [word for suffix in suffixes for word in ("-o", str(tmp_path / "out" / f"result.{suffix}"))]
    done = railgauge(*measure, "-n", "1", "--device", "cpu", *files, PYTHONPATH=str(tmp_path))
    assert done.returncode in (0, 1), done.stderr
    assert_clean(done.stdout)
    assert_clean(done.stderr)
    written = sorted((tmp_path / "out").iterdir())
    assert len(written) == len(suffixes)
    for one in written:
        assert_inert(one)


TYPED = HOSTILE.replace("\0", "").replace("\ud83d", "")
"""What a file of text, or a command line, can hold of it."""
TYPED_LINE = TYPED.splitlines()[0]


@pytest.mark.parametrize(
    "text",
    [
        TYPED,
        f"a{TYPED_LINE} slots=1\n",
        f"a slots={TYPED_LINE}\n",
        f"@{TYPED_LINE}\n",
        f"a\n{TYPED_LINE}:2\n",
        f"a[{TYPED_LINE}]",
    ],
    ids=range(6),
)
def test_names_in_a_hostfile_are_text(text, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text(text)
    for args in (
        ("run", "all_reduce", "--dry-run", "--hostfile", str(hosts)),
        ("run", "all_reduce", "--dry-run", "--hosts", text),
        ("link", "--dry-run", "--hostfile", str(hosts)),
        ("cluster", "check", "--hostfile", str(hosts)),
        ("cluster", "dump", "-w", text),
        ("cluster", "link", "--dry-run", "--hostfile", str(hosts)),
    ):
        done = in_process(*args, RAILGAUGE_SSH="false")
        assert done.returncode not in (0, 70), (args, done.stderr)
        assert_clean(done.stdout)
        assert_clean(done.stderr)


@pytest.fixture(scope="module")
def channels(tmp_path_factory):
    """A graph file of @h200x4."""
    path = tmp_path_factory.mktemp("graph") / "graph.xml"
    assert in_process("graph", "search", "--from", "@h200x4", "-o", str(path)).returncode == 0
    return path.read_text()


@pytest.mark.parametrize("name", ["version", "id", "pattern", "nchannels", "speedintra", "typeintra", "dev", "more"])
def test_a_graph_file_is_text(channels, name, tmp_path):
    if name == "more":
        text = channels.replace("<channel>", f'<channel more="{IN_XML}">', 1)
    else:
        text = re.sub(rf'\b{name}="([^"]*)"', lambda match: f'{name}="{match[1]}{IN_XML}"', channels, count=2)
    graph = tmp_path / "graph.xml"
    graph.write_text(text)
    picture = tmp_path / "graph.svg"
    for args in (
        ("graph", "lint", str(graph), "--from", "@h200x4"),
        ("graph", "lint", str(graph), "--from", "@h200x4", "--json"),
        ("graph", "show", str(graph), "--from", "@h200x4"),
        ("graph", "show", str(graph), "--from", "@h200x4", "-o", str(picture)),
        ("graph", "join", f"@h200x4,{graph}"),
        ("graph", "predict", "all_reduce", "--from", "@h200x4", "--graph", str(graph)),
    ):
        done = in_process(*args)
        assert done.returncode != 70, (args, done.stderr)
        assert_clean(done.stdout)
        assert_clean(done.stderr)
    assert_clean(at_terminal("graph", "lint", str(graph), "--from", "@h200x4")[0], tty=True)
    if picture.exists():
        assert_inert(picture)


def test_logs_and_records_are_text(tmp_path):
    line = HOSTILE.splitlines()[0]
    log = tmp_path / "log"
    log.write_bytes(
        "".join(
            f"{host}:{pid}:{pid} [{pid - 7}] NCCL {text}\n"
            for pid, host in ((7, f"a{line}"), (8, f"b{line}"))
            for text in (
                f"INFO NCCL_SOCKET_IFNAME set by environment to {line}",
                f"INFO Bootstrap: Using eth0{line}:10.0.0.1<0>",
                f"INFO comm 0x1 rank {pid - 7} nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0{line}",
                f"INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC{line}",
                f"WARN Cuda failure 'out of memory{line}'",
                f"WARN NET/IB : Got completion from peer 10.0.0.1<1> with status=12 {line}",
            )
        ).encode("utf-8", "replace")
        + f"{line}\n".encode("utf-8", "replace")
    )
    dump = {
        "version": "2.9",
        "pg_config": {"0": {"name": HOSTILE, "desc": HOSTILE, "ranks": "[0, 1]"}},
        "pg_status": {
            "0": {"last_enqueued_collective": 1, "last_started_collective": 1, "last_completed_collective": 0}
        },
        "entries": [
            {
                "collective_seq_id": 1,
                "p2p_seq_id": 0,
                "op_id": 1,
                "process_group": [HOSTILE, HOSTILE],
                "pg_id": 0,
                "profiling_name": f"nccl:all_reduce{HOSTILE}",
                "state": HOSTILE,
                "input_sizes": [[1]],
                "record_id": 0,
                "input_dtypes": [HOSTILE],
                "output_sizes": [[1]],
                "output_dtypes": [HOSTILE],
                "is_p2p": False,
                "frames": [{"name": HOSTILE, "filename": HOSTILE, "line": 1}],
            }
        ],
    }
    record = tmp_path / "nccl_trace_rank_0"
    record.write_text(json.dumps(dump))
    for args in (("explain", str(log)), ("hang", str(log), str(record)), ("hang", str(record))):
        done = in_process("log", *args)
        assert done.returncode != 70, done.stderr
        assert_clean(done.stdout)
        assert_clean(done.stderr)
        assert_clean(at_terminal("log", *args)[0], tty=True)
        assert in_process("log", *args, "--json").stdout.isascii()


HOSTILE_SSH = """\
#!/bin/sh
printf 'warn \\033]52;c;ZXZpbA==\\a\\033[8m\\302\\233 \\342\\200\\256 \\233 \\000 \\n' >&2
printf 'out \\033]52;c;ZXZpbA==\\a\\033[8m\\302\\233 \\342\\200\\256 \\n'
exit $STATUS
"""


@pytest.mark.parametrize("status", ["0", "1", "3", "255"])
@pytest.mark.parametrize(
    "args",
    [
        ("run", "all_reduce", "--hosts", "a:1,b:1", "-b", "8", "-e", "8"),
        ("cluster", "dump", "-w", "a,b"),
        ("cluster", "check", "-w", "a,b"),
    ],
    ids=lambda args: args[1],
)
def test_what_hosts_say_is_text(args, status, tmp_path):
    ssh = tmp_path / "ssh"
    ssh.write_text(HOSTILE_SSH)
    ssh.chmod(0o755)
    text, _ = at_terminal(*args, RAILGAUGE_SSH=str(ssh), STATUS=status)
    assert text
    assert_clean(text, tty=True)


PREFLIGHT_SSH = """\
#!{python}
import json, sys
if "json" in sys.stdin.read(4000):
    print(json.dumps(dict(version={version!r}, problems=dict([({hostile!r}, {hostile!r})]))))
"""


def test_what_a_preflight_answers_is_text(tmp_path):
    from railgauge import __version__

    ssh = tmp_path / "ssh"
    ssh.write_text(PREFLIGHT_SSH.format(python=os.sys.executable, version=__version__, hostile=HOSTILE))
    ssh.chmod(0o755)
    text, status = at_terminal("run", "all_reduce", "--hosts", "a:1,b:1", RAILGAUGE_SSH=str(ssh))
    assert (status, "not all of the 2 hosts are ready" in text) == (3, True), text
    assert_clean(text, tty=True)


@pytest.mark.parametrize(
    "args",
    [
        ("topo", "show", "--from", f"/no/{HOSTILE}".replace("\0", "").replace("\ud83d", "\udc9b")),
        ("topo", "show", "--from", "@" + HOSTILE.replace("\0", "").replace("\ud83d", "\udc9b")),
        (
            "graph",
            "search",
            "--from",
            "@h200x4",
            "--set",
            "NCCL_ALGO=" + HOSTILE.replace("\0", "").replace("\ud83d", ""),
        ),
        ("no\x1b[8msuch",),
        ("topo", "no\x1b[8m\x9bsuch"),
    ],
    ids=range(5),
)
def test_what_is_typed_is_text(args):
    text, status = at_terminal(*args)
    assert status in (0, 2, 5)
    assert_clean(text, tty=True)


def test_settings_of_the_environment_are_text():
    hostile = HOSTILE.replace("\0", "").replace("\ud83d", "\udc9b")
    for args in (("env",), ("check",), ("topo", "show")):
        done = in_process(*args, **dict.fromkeys(SETTINGS, hostile))
        assert done.returncode != 70, done.stderr
        assert_clean(done.stdout)
        assert_clean(done.stderr)
