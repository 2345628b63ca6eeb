# SPDX-License-Identifier: Apache-2.0
"""libibverbs asked through pyverbs in a child process: which interpreter, what comes back, and when it cannot be."""

import json
import sys

import pytest

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources.verbs import CHILD, VerbsDevice, live_verbs, read_verbs

FAKE_PYVERBS = {
    "__init__.py": "",
    "pyverbs_error.py": """
class PyverbsError(Exception): pass
class PyverbsRDMAError(PyverbsError):
    def __init__(self, message, code):
        super().__init__(message)
        self.error_code = code
""",
    "device.py": """
from types import SimpleNamespace
from pyverbs.pyverbs_error import PyverbsError
def get_device_list():
    return [SimpleNamespace(name=name) for name in (b"mlx5_1", b"mlx5_0", b"shut")]
class Context:
    def __init__(self, name):
        if name == "shut":
            raise PyverbsError("Failed to open device shut")
        self.name = name
    def __enter__(self): return self
    def __exit__(self, *what): pass
    def query_device(self):
        return SimpleNamespace(phys_port_cnt=2, max_qp=131072, max_mr_size=2**64 - 1, vendor_part_id=4129)
    def query_port(self, number):
        if number == 2:
            raise PyverbsError("no such port")
        return SimpleNamespace(state=4, max_mtu=5, active_mtu=3, gid_tbl_len=256)
""",
    "pd.py": """
class PD:
    def __init__(self, context): self.context = context
    def __enter__(self): return self
    def __exit__(self, *what): pass
""",
    "mr.py": """
import errno
from pyverbs.pyverbs_error import PyverbsRDMAError
class DmaBufMR:
    def __init__(self, pd, length, access, dmabuf):
        raise PyverbsRDMAError("bad", errno.EBADF if pd.context.name == "mlx5_0" else errno.EOPNOTSUPP)
""",
}


@pytest.fixture
def pyverbs(tmp_path):
    """The command that runs the child with a made-up pyverbs in reach."""
    folder = tmp_path / "pyverbs"
    folder.mkdir()
    for name, text in FAKE_PYVERBS.items():
        (folder / name).write_text(text)
    start = f"import runpy, sys; sys.path.insert(0, {str(tmp_path)!r}); runpy.run_path({CHILD!r}, run_name='__main__')"
    return (sys.executable, "-c", start)


def absent(what: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import json; print(json.dumps({{'error': {what!r}}}))")


def test_devices_keep_the_order_of_libibverbs(pyverbs):
    verbs = read_verbs(LiveReader("/nonexistent", {"verbs": lambda: live_verbs([pyverbs])}))
    assert verbs.names == ("mlx5_1", "mlx5_0", "shut")
    assert verbs.reason is None
    device = verbs.device("mlx5_0")
    assert (device.max_qp, device.vendor_part_id, device.dma_buf) == (131072, 4129, True)
    assert (device.port(1).active_mtu, device.port(1).max_mtu) == (1024, 4096)


def test_dma_buf_is_absent_where_the_driver_does_not_know_the_call(pyverbs):
    verbs = read_verbs(LiveReader("/nonexistent", {"verbs": lambda: live_verbs([pyverbs])}))
    assert verbs.device("mlx5_1").dma_buf is False


def test_what_cannot_be_opened_or_queried_says_so_and_the_rest_is_there(pyverbs):
    answer = live_verbs([pyverbs])
    assert answer["devices"][2] == {"name": "shut", "error": "Failed to open device shut"}
    assert answer["devices"][0]["ports"][1] == {"number": 2, "error": "no such port"}
    assert read_verbs(LiveReader("/x", {"verbs": lambda: answer})).device("mlx5_0").port(2).active_mtu is None


def test_a_capture_takes_the_answers(pyverbs):
    answer = json.loads(json.dumps(live_verbs([pyverbs])))
    assert misfit(answer, "facts/verbs.json") is None
    assert misfit({"devices": [{"max_qp": 1}]}, "facts/verbs.json") == "facts/verbs.json.devices[0] has no 'name'"


def test_the_next_way_is_tried_when_one_has_no_pyverbs(pyverbs):
    answer = live_verbs([absent("pyverbs is absent"), pyverbs])
    assert (answer["asked"], len(answer["devices"])) == (" ".join(pyverbs), 3)


def test_where_no_way_works_each_says_why():
    verbs = read_verbs(LiveReader("/x", {"verbs": lambda: live_verbs([absent("one"), absent("two"), ("/no/python",)])}))
    assert verbs.devices == ()
    assert verbs.reason is not None
    assert all(part in verbs.reason for part in ("one", "two", "/no/python: verbs: cannot start"))
    assert verbs.device("mlx5_0") == VerbsDevice(name="mlx5_0")


def test_a_hanging_library_costs_its_time_limit_only():
    hanging = (sys.executable, "-c", "import time; time.sleep(60)")
    answer = live_verbs([hanging, hanging], timeout_s=0.5)
    assert answer["error"].count("did not answer within 0.5 s") == 1


def test_unasked_is_told():
    assert read_verbs(LiveReader("/nonexistent")).reason == "libibverbs was not queried"


def test_the_live_child_answers_one_way_or_the_other():
    answer = live_verbs()
    assert ("devices" in answer) != ("error" in answer)


@pytest.mark.parametrize("has_it", [True, False])
def test_this_interpreter_is_asked_where_it_has_pyverbs(monkeypatch, has_it):
    started = []
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: object() if has_it else None)
    monkeypatch.setattr(
        "railgauge.topo.facts.sources.verbs.ask", lambda command, *_: started.append(command) or {"error": ""}
    )
    live_verbs()
    assert ((sys.executable, "-P", CHILD) in started) == has_it
    assert len(started) == 2 + has_it
