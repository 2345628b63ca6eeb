# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/guide/collectives.md and docs/internals/shared-memory.md run, and tables name what there is."""

import inspect
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.collectives.wiring import everybody
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import on_ranks

import railgauge
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype

FOLDER = Path(__file__).parents[2] / "docs"
DOCS = (FOLDER / "guide/collectives.md").read_text()
EXAMPLES = {
    name: re.findall(r"```python\n(.*?)```", (FOLDER / name).read_text(), re.DOTALL)
    for name in ("guide/collectives.md", "internals/shared-memory.md")
}
PROGRAMS = re.findall(r"```python program\n(.*?)```", DOCS, re.DOTALL)


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


@pytest.mark.parametrize(("name", "examples"), [("guide/collectives.md", 7), ("internals/shared-memory.md", 1)])
def test_the_examples_run_on_four_ranks(name, examples):
    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [list(range(4))], point_to_point=True)
        for example in EXAMPLES[name]:
            exec(compile(example, f"docs/{name}", "exec"), {"np": np, "comm": comm, "railgauge": railgauge})
        return len(EXAMPLES[name])

    assert on_ranks(4, body) == [examples] * 4


def test_the_program_runs_as_two_processes():
    (program,) = PROGRAMS
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "NCCL_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", program], env=env | {"RANK": str(rank)}, stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    assert [(one.communicate(timeout=HANGS_AFTER_S)[1], one.returncode) for one in ranks] == [("", 0)] * 2


def test_every_collective_is_in_the_table_with_its_arguments():
    rows = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", DOCS, re.MULTILINE))
    for name, arguments in rows.items():
        given = [one.split("=")[0].strip() for one in arguments.split(",") if one]
        parameters = inspect.signature(getattr(Communicator, name)).parameters
        assert given == [one for one in parameters if one not in ("self", "async_op")]
    public = [name for name in dir(Communicator) if not name.startswith("_")]
    in_background = {name for name in public if "async_op" in inspect.getdoc(getattr(Communicator, name))}
    assert in_background - {"group", "split"} == set(rows)


def test_every_type_is_in_the_table():
    table = DOCS[DOCS.index("| name in tables") : DOCS.index("An array must be")]
    assert all(re.search(rf"\b{dtype.label}\b", table) for dtype in Dtype)
