# SPDX-License-Identifier: Apache-2.0
"""Ranks are forks of their launcher: what all need is imported once."""

import collections
import os
import re
import signal
import subprocess
import sys

import pytest
from tests.hosts.rank_processes import rank_of
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.launch.forked_rank import start_rank

JOBS = (("run", "all_reduce", "-b", "8", "-e", "64", "-f", "2"), ("link", "-b", "8", "-n", "2"))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job[0])
def test_no_rank_imports_what_another_one_has_imported(job):
    command = [sys.executable, "-X", "importtime", "-P", "-m", "railgauge", *job, "--ranks", "3"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert ran.returncode in (0, 1), ran.stderr  # links of a busy machine are slow
    imported = collections.Counter(re.findall(r"^import time:.*\| +(railgauge[.\w]*)$", ran.stderr, re.MULTILINE))
    assert imported["railgauge.collectives.launch.forked_rank"] == 1
    assert not [name for name, times in imported.items() if times >= 3]


@pytest.fixture
def unread(monkeypatch):
    """A rank that ends by itself with status 2, whatever its environment."""
    return ["run", "no such collective"], {"PATH": os.defpath, "RANK": "7"}


def test_a_rank_ends_with_its_own_status_and_leaves_this_process_as_it_is(unread, capfd):
    before = dict(os.environ), list(sys.argv), signal.getsignal(signal.SIGTERM)
    rank = start_rank(*unread, shows=False)
    rank.join(HANGS_AFTER_S)
    assert rank.exitcode == 2
    assert "no such collective" in capfd.readouterr().err
    assert (dict(os.environ), list(sys.argv), signal.getsignal(signal.SIGTERM)) == before


def test_a_rank_holds_no_descriptor_that_it_is_not_given():
    reads, writes = os.pipe()
    environ = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    waiting = start_rank(["run", "all_reduce", "-T", "60"], environ, shows=False, closed=(writes,))
    try:
        os.close(writes)
        assert os.read(reads, 1) == b""  # at once: the rank waits for its peers
        assert waiting.exitcode is None
        assert rank_of(waiting.pid) in (-1, 0)
    finally:
        waiting.kill()
        waiting.join()
        os.close(reads)
