# SPDX-License-Identifier: Apache-2.0
"""Whatever a machine, a file or another host says: no control character of it reaches a terminal or a file, it adds no
line to what is printed, and HTML, SVG and XML stay well-formed and without a script.
"""

import csv
import json
import os
import pty
import re
import shutil
import subprocess
import threading
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from tests.cli.command import clean_environment, command, in_process, railgauge
from tests.patience import HANGS_AFTER_S

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts.capture import dumps
from railgauge.topo.facts.sources.host_identity import HOSTNAME
from railgauge.topo.machine import load_machine
from railgauge.topo.values.printable import CONTROL

FORGED = "FORGED: no findings"
HOSTILE = (
    "x\x1b]52;c;ZXZpbA==\x07\x1b[8m\x1b[2J\x9b31m\u202egpj\u2066\u200b\x00\x7f\r\x85\u2028\u2029\ud83d\x08"
    f"\n{FORGED}\n</title></style><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"' onload=alert(1) x='[/red]{}"
)
IN_XML = (
    "x\u009b31m\u009d52;c;x\u009c&#x9b;&#127;\u202egpj\u2066\u200b&#13;\u0085\u2028"
    f"&#10;{FORGED}&#10;&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;' onload=alert(1) [/red]"
)
SGR = re.compile(r"\x1b\[(?!8m)[0-9;]*m")  # colours and bold; nothing conceals
PROGRESS = re.compile(r"\r\x1b\[K|\x1b\[\?25[lh]|\x1b\[[12][AK]|\r")
SETTINGS = ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_NET", "NCCL_DEBUG", "NCCL_ALGO", "NCCL_NO_SUCH", "NCCL_COMM_ID")


def assert_clean(text, *, tty=False):
    if tty:
        text = PROGRESS.sub("", SGR.sub("", text.replace("\r\n", "\n")))
    found = CONTROL.findall(text)
    assert found == [], text[max(0, text.find(found[0]) - 200) :][:400]
    assert not [line for line in text.splitlines() if line.startswith("FORGED")], text


class Page(HTMLParser):
    """What a browser would run or load."""

    def __init__(self):
        super().__init__()
        self.active = []

    def handle_starttag(self, tag, attrs):
        bad = [name for name, value in attrs if name.startswith("on") or name in ("src", "href", "srcset", "style")]
        if tag in ("script", "img", "iframe", "object", "embed", "link", "base", "form", "foreignobject") or bad:
            self.active.append((tag, bad))


def assert_inert(path):
    text = path.read_text()
    assert_clean(text)
    if path.suffix == ".json":
        assert text.isascii()
        json.loads(text)
    elif path.suffix in (".svg", ".html"):
        page = Page()
        page.feed(text)
        assert page.active == []
        pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        assert pictures
        for picture in pictures:
            ElementTree.fromstring(picture)
    elif path.suffix == ".dot" and shutil.which("dot"):
        assert subprocess.run(["dot", "-Tplain", path], capture_output=True, check=False).returncode == 0
    elif path.suffix == ".xml":
        ElementTree.fromstring(text)
    elif path.suffix == ".csv":
        rows = list(csv.reader(text.splitlines()))
        assert len(rows) > 1
        assert {len(row) for row in rows} == {len(rows[0])}
    elif path.suffix == ".prom":
        line = r'# .*|\w+(?:\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? [\d.e+]+'
        assert [one for one in text.splitlines() if not re.fullmatch(line, one)] == []


def at_terminal(*args, **env):
    """What a terminal gets of stdout and stderr, and the status."""
    ours, theirs = pty.openpty()
    got = []

    def read():
        try:
            while data := os.read(ours, 65536):
                got.append(data)
        except OSError:
            pass  # the other end is closed

    reader = threading.Thread(target=read)
    reader.start()
    colours = clean_environment(TERM="xterm-256color", **env)
    process = subprocess.Popen(command(*args), env=colours, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    status = process.wait(timeout=HANGS_AFTER_S)
    reader.join()
    os.close(ours)
    return b"".join(got).decode("utf-8", "surrogateescape"), status


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A DGX H100 whose every text that is a name, and every answer, is hostile."""
    capture = load("dgx-h100")
    names = ("fw_ver", "board_id", "hca_type", "node_desc", "product_name", "rate", "hw_rev", "osrelease", "type")
    texts = {
        path: f"{text} {HOSTILE}" if path.rpartition("/")[2] in names or path == HOSTNAME else text
        for path, text in capture.texts.items()
    }
    cpuinfo = "/proc/cpuinfo"
    texts[cpuinfo] = texts[cpuinfo].replace("model name", f"model name : {HOSTILE.splitlines()[0]}\nmodel name", 1)
    facts = dict(capture.facts)
    gpus = [{**gpu, "name": f"{gpu['name']}{HOSTILE}", "vbios": HOSTILE} for gpu in facts["nvml"]["gpus"]]
    facts["nvml"] = {**facts["nvml"], "gpus": gpus, "driver": HOSTILE}
    facts["fabric_manager"] = {"error": HOSTILE}
    facts["verbs"] = {"error": HOSTILE}
    facts["settings"] = {"environment": dict.fromkeys(SETTINGS, HOSTILE), "files": ["/etc/nccl.conf"]}
    texts["/etc/nccl.conf"] = f"NCCL_IB_TIMEOUT={HOSTILE.splitlines()[0]}\n{FORGED}"
    manifest = {**capture.manifest, "host": HOSTILE, "problems": {f"/sys/{HOSTILE}": HOSTILE}}
    path = tmp_path_factory.mktemp("hostile") / "node.tar.gz"
    path.write_bytes(dumps(replace(capture, manifest=manifest, texts=texts, facts=facts)))
    return str(path)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A topology file whose free texts are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    done = in_process("topo", "dump", "--from", "@dgx-h100")
    text = re.sub(
        r'\b(name|guid|keep|class|vendor|device)="([^"]*)"', lambda m: f'{m[1]}="{m[2]}{IN_XML}"', done.stdout
    )
    text = text.replace("<system ", f'<system unknown="{IN_XML}" ', 1)
    path = folder / "topo.xml"
    path.write_text(text)
    return str(path)


VIEWS = (
    ("topo", "show"),
    ("topo", "show", "--view", "matrix"),
    ("topo", "show", "--view", "rdma"),
    ("topo", "paths"),
    ("topo", "paths", "GPU0", "NIC0"),
    ("topo", "pick", "2"),
    ("topo", "dump"),
    ("check",),
    ("env",),
    ("gdr", "check", "--no-transfer"),
    ("graph", "search"),
    ("graph", "show"),
    ("graph", "predict", "all_reduce"),
)
JSON = ("topo show", "topo paths", "check", "env", "graph search")


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
@pytest.mark.parametrize("source", ["recorded", "described"])
def test_what_a_machine_says_is_text(view, source, request):
    path = request.getfixturevalue(source)
    done = in_process(*view, "--from", path)
    assert done.returncode != 70, done.stderr
    assert_clean(done.stdout)
    assert_clean(done.stderr)
    if " ".join(view) in JSON:
        done = in_process(*view, "--from", path, "--json")
        assert done.stdout.isascii()
        assert_clean(done.stdout)


@pytest.mark.parametrize("view", [VIEWS[0], VIEWS[1], VIEWS[2], ("check",), ("topo", "dump")], ids=" ".join)
@pytest.mark.parametrize("source", ["recorded", "described"])
def test_a_terminal_gets_colours_alone(view, source, request):
    text, status = at_terminal(*view, "--from", request.getfixturevalue(source))
    assert status != 70
    assert len(text) > 50
    assert_clean(text, tty=True)


@pytest.mark.parametrize("source", ["recorded", "described"])
def test_pictures_and_files_are_inert(source, request, tmp_path):
    path = request.getfixturevalue(source)
    for suffix in ("svg", "html", "dot", "json"):
        in_process("topo", "show", "--from", path, "-o", str(tmp_path / f"show.{suffix}"))
    for suffix in ("html", "prom", "json"):
        in_process("check", "--from", path, "-o", str(tmp_path / f"check.{suffix}"))
    for suffix in ("svg", "html", "dot"):
        in_process("graph", "show", "--from", path, "-o", str(tmp_path / f"graph.{suffix}"))
    in_process("topo", "dump", "--from", path, "-o", str(tmp_path / "topo.xml"))
    written = sorted(tmp_path.iterdir())
    assert len(written) >= 10, written
    for one in written:
        assert_inert(one)


def test_lint_and_diff_are_text(recorded, described):
    for args in (("topo", "lint", described), ("topo", "lint", described, "--from", recorded)):
        assert_clean(in_process(*args).stdout)
    done = in_process("topo", "diff", recorded, "@dgx-h100")
    assert done.returncode == 1, done.stderr
    assert_clean(done.stdout)
    assert_clean(in_process("topo", "diff", described, "@dgx-h100").stdout)


def test_a_matrix_of_nvidia_smi_is_text(tmp_path):
    smi = tmp_path / "smi.txt"
    shown = in_process("topo", "show", "--view", "matrix", "--from", "@dgx-h100").stdout
    first = HOSTILE.splitlines()[0].replace("\x85", "")
    smi.write_bytes(shown.replace("NV18", f"NV{first}").replace("mlx5_0", f"mlx5_{first}").encode("utf-8", "replace"))
    args = ("topo", "show", "--view", "matrix", "--from", "@dgx-h100", "--against", str(smi))
    assert_clean(in_process(*args).stdout)
    assert_clean(at_terminal(*args)[0], tty=True)


def test_a_baseline_is_text(recorded, tmp_path):
    document = {
        "schema": "railgauge/findings/1",
        "version": HOSTILE,
        "host": HOSTILE,
        "time": HOSTILE,
        "findings": [
            {
                "id": "pcie-link-degraded",
                "level": "FAIL",
                "host": HOSTILE,
                "subject": HOSTILE,
                "evidence": {HOSTILE: HOSTILE},
                "message": HOSTILE,
                "effect": HOSTILE,
                "remedy": HOSTILE,
            }
        ],
    }
    old = tmp_path / "old.json"
    old.write_text(json.dumps(document))
    for text in ("", "--json"):
        done = in_process("check", "--from", recorded, "--against", str(old), *text.split())
        assert_clean(done.stdout)
        assert_clean(done.stderr)
    assert_clean(at_terminal("check", "--from", recorded, "--against", str(old))[0], tty=True)
    in_process("check", "--from", recorded, "--against", str(old), "-o", str(tmp_path / "new.html"))
    assert_inert(tmp_path / "new.html")


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


def test_an_archive_is_not_for_a_terminal():
    text, status = at_terminal("topo", "capture", "-o", "/dev/stdout")
    assert status == 2
    assert "is a terminal" in text
    assert_clean(text, tty=True)


def test_an_encoding_that_lacks_a_character_ends_nothing(recorded):
    done = railgauge("topo", "show", "--from", recorded, PYTHONIOENCODING="ascii", timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_a_machine_is_in_colour_at_a_terminal():
    assert "\x1b[" in at_terminal("topo", "show", "--from", "@dgx-h100")[0]


def test_the_fixtures_of_these_tests_are_hostile(recorded, described):
    machine = load_machine(recorded)
    assert "FORGED" in (machine.facts.host.product or "")
