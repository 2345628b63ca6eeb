# SPDX-License-Identifier: Apache-2.0
"""The same script on torch's stores and on ours; our client at torch's server, and torch's client at ours."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.patience import HANGS_AFTER_S

from railgauge.topo.errors import AuthenticationError, PeerLostError, WaitTimeoutError
from railgauge.transports.store import TCPStore

TORCH = Path(__file__).parents[3] / "build/peers/torch/bin/python"
pytestmark = pytest.mark.skipif(not TORCH.exists(), reason="torch is not there: scripts/peers torch")
LONG = timedelta(seconds=20)

SCRIPT = """
import json, sys, tempfile
from datetime import timedelta

def answer(function, *arguments):
    try:
        value = function(*arguments)
    except Exception:
        return "error"
    return repr(value)

def script(store, known):
    store.set_timeout(timedelta(seconds=0.2))
    before = store.num_keys()
    say = lambda name, *arguments: known.append((name, *map(str, arguments), answer(getattr(store, name), *arguments)))
    say("get", "absent")
    say("set", "a", "1")
    say("get", "a")
    say("set", "a", "")
    say("get", "a")
    say("add", "n", 5)
    say("add", "n", -7)
    say("get", "n")
    say("set", "n", " 12x")
    say("add", "n", 1)
    say("add", "big", 2**62)
    say("add", "big", 2**62)
    say("compare_set", "c", "expected", "x")
    say("check", ["c"])
    say("compare_set", "c", "", "x")
    say("compare_set", "c", "other", "y")
    say("compare_set", "c", "", "y")
    say("compare_set", "c", "x", "y")
    say("get", "c")
    say("compare_set", "a", "", "filled")
    say("append", "p", "po")
    say("append", "p", "tato")
    say("get", "p")
    say("multi_set", ["g", "h"], ["1", "2"])
    say("multi_get", ["h", "g", "p"])
    say("multi_get", ["h", "absent"])
    say("multi_get", [])
    say("wait", ["g", "h"])
    say("wait", ["g", "absent"])
    say("wait", ["g", "absent"], timedelta(seconds=0.1))
    say("wait", [])
    say("check", ["g", "h"])
    say("check", ["g", "absent"])
    say("check", [])
    say("delete_key", "g")
    say("check", ["g"])
    say("set", "g", b"\\x00\\xff")
    say("get", "g")
    known.append(("keys", store.num_keys() - before))

def tcp(stores, world_size=None):
    return stores.TCPStore("127.0.0.1", 0, world_size, True, timedelta(seconds=5))

MAKERS = {
    "TCPStore": tcp,
    "TCPStore of 1": lambda stores: tcp(stores, 1),
    "HashStore": lambda stores: stores.HashStore(),
    "FileStore": lambda stores: stores.FileStore(tempfile.mktemp(dir=sys.argv[1]), 1),
    "PrefixStore": lambda stores: stores.PrefixStore("prefix", tcp(stores)),
}

def run(stores):
    return {name: script(make(stores), known := []) or known for name, make in MAKERS.items()}
"""


def run_script(python, import_stores, folder):
    code = f"{SCRIPT}\nimport {import_stores} as stores\nprint(json.dumps(run(stores)))"
    return start(python, code, folder)


def torch(code, *arguments):
    return start(TORCH, code, *arguments)


def start(python, code, *arguments):
    command = [python, "-P", "-c", code, *map(str, arguments)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, **pipes)


def test_the_same_script_has_the_same_answers(tmp_path):
    with (
        run_script(sys.executable, "railgauge.transports.store", tmp_path) as ours,
        run_script(TORCH, "torch.distributed", tmp_path) as theirs,
    ):
        answers = [process.communicate(timeout=HANGS_AFTER_S) for process in (ours, theirs)]
    assert [ours.returncode, theirs.returncode] == [0, 0], answers
    ours, theirs = (json.loads(output) for output, _ in answers)
    assert ours == theirs
    assert all(len(said) > 30 for said in ours.values())


def torchs_server(use_libuv):
    return torch(f"""
import sys, torch.distributed
store = torch.distributed.TCPStore("127.0.0.1", 0, None, True, use_libuv={use_libuv})
print(store.port, flush=True)
sys.stdin.read()
""")


@pytest.mark.parametrize("use_libuv", [True, False])
def test_our_client_with_a_secret_is_told_that_torchs_server_has_none(use_libuv):
    with torchs_server(use_libuv) as server:
        port = int(server.stdout.readline())
        with pytest.raises(AuthenticationError, match="has no job secret"):
            TCPStore("127.0.0.1", port, timeout=LONG, secret=b"mine")
        server.communicate("", timeout=HANGS_AFTER_S)


@pytest.mark.parametrize("use_libuv", [True, False])
def test_our_client_at_torchs_server(use_libuv):
    with (
        torchs_server(use_libuv) as server,
        TCPStore("127.0.0.1", int(server.stdout.readline()), timeout=LONG) as store,
    ):
        store.multi_set(["a", "b"], ["1", b"\xff"])
        store.append("a", "0")
        assert store.multi_get(["b", "a"]) == [b"\xff", b"10"]
        assert store.add("a", 5) == 15
        assert store.compare_set("c", "", "x") == b"x"
        assert store.check(["a", "c"])
        assert (store.delete_key("c"), store.delete_key("c")) == (True, False)
        assert store.num_keys() == 2
        with pytest.raises(WaitTimeoutError, match="for never in the store"):
            store.wait(["a", "never"], timedelta(milliseconds=100))
        assert store.get("b") == b"\xff"
        server.communicate("", timeout=HANGS_AFTER_S)
        with pytest.raises(PeerLostError):
            store.get("a")


def test_torchs_client_at_our_server():
    use = """
import sys
from datetime import timedelta
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), 1, False, timedelta(seconds=20))
store.multi_set(["a", "b"], ["1", "2"])
store.append("a", "0")
assert store.multi_get(["b", "a", "ours"]) == [b"2", b"10", b"hello"]
assert store.add("a", 5) == 15
assert store.compare_set("c", "", "x") == b"x"
assert store.check(["a", "c"])
assert store.delete_key("c") and not store.delete_key("c")
assert store.num_keys() == 4  # with the one in which torch's clients count themselves
try:
    store.wait(["never"], timedelta(seconds=0.1))
    raise AssertionError
except RuntimeError:
    pass
assert store.get("a") == b"15"
"""
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store:
        store.set("ours", "hello")
        with torch(use, store.port) as client:
            _, errors = client.communicate(timeout=HANGS_AFTER_S)
        assert client.returncode == 0, errors
        assert store.get("b") == b"2"


def test_torchs_processes_meet_and_reduce_through_our_store():
    work = """
import sys, torch
from datetime import timedelta
from torch import distributed
store = distributed.TCPStore("127.0.0.1", int(sys.argv[1]), 2, False, timedelta(seconds=20))
distributed.init_process_group("gloo", store=store, rank=int(sys.argv[2]), world_size=2)
ranks = torch.ones(1) * (1 + distributed.get_rank())
distributed.all_reduce(ranks)
assert ranks.item() == 3
distributed.destroy_process_group()
"""
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG) as store:
        with torch(work, store.port, 0) as one, torch(work, store.port, 1) as two:
            outputs = [process.communicate(timeout=HANGS_AFTER_S)[1] for process in (one, two)]
        assert [one.returncode, two.returncode] == [0, 0], outputs


def test_torchs_client_without_the_job_secret_is_refused(caplog):
    use = """
import sys
from datetime import timedelta
from torch.distributed import TCPStore
TCPStore("127.0.0.1", int(sys.argv[1]), None, False, timedelta(seconds=1)).set("a", "1")
"""
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG, secret=b"secret") as store:
        with torch(use, store.port) as client:
            client.communicate(timeout=HANGS_AFTER_S)
        assert client.returncode != 0
        assert store.num_keys() == 0
    assert "RAILGAUGE_SECRET" in caplog.text
