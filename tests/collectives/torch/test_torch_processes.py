# SPDX-License-Identifier: Apache-2.0
"""`backend="railgauge"` between processes as users start them: ranks that torchrun started are lost; two hosts."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.command import clean_environment
from tests.collectives.torch.test_torch import HERE, PACKAGES, ROOT, pytestmark
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S

__all__ = ["pytestmark"]
ENV = clean_environment(PYTHONPATH=f"{PACKAGES}{os.pathsep}{ROOT}", OMP_NUM_THREADS="1")


def test_a_stopped_and_a_killed_rank_are_reported_on_all_others(tmp_path):
    agent = ("-m", "torch.distributed.run", "--standalone", "--monitor-interval", "300", "--nproc-per-node", "3")
    with subprocess.Popen(
        [sys.executable, *agent, HERE / "losing_rank.py", tmp_path],
        env=ENV,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as torchrun:
        try:
            reports = [tmp_path / name for name in ("stopped-0", "stopped-1", "killed-0")]
            until = time.monotonic() + HANGS_AFTER_S
            while not all(one.exists() and one.read_text() for one in reports) and time.monotonic() < until:
                time.sleep(0.1)
            told = [one.read_text() if one.exists() else "" for one in reports]
        finally:  # ranks have sessions of their own
            for pid in descendants(torchrun.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            torchrun.kill()
        said = torchrun.stderr.read()
    for rank, text in enumerate(told[:2]):
        assert f"rank {rank} of group 0: all_reduce: " in text, said
        assert "rank 2" in text, said
    assert "rank 0 of group 0: all_reduce: rank 1 on " in told[2], said
    assert "is gone" in told[2]


def descendants(pid):
    """The processes that it has started, and those that they have."""
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    found = [int(word) for word in children.stdout.split()]
    return found + [one for child in found for one in descendants(child)]


@pytest.fixture(scope="module")
def hosts():
    with make_hosts(2) as made:
        yield made


def test_two_hosts_train_over_sockets(hosts):
    where = {"MASTER_ADDR": hosts.addresses[0], "MASTER_PORT": "29500", "WORLD_SIZE": "2", "NCCL_DEBUG": "INFO"}
    ranks = [
        hosts.start(
            rank,
            [sys.executable, "examples/ddp.py"],
            env=ENV | where | {"RANK": str(rank)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in (0, 1)
    ]
    said = [rank.communicate(timeout=HANGS_AFTER_S)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert "step 19: loss 0." in said[0]
    for text in said:
        assert "via NET/Socket/0" in text
        assert "via SHM" not in text
