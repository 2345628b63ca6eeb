# SPDX-License-Identifier: Apache-2.0
"""What a launcher of ours tells its ranks by the environment, and what junk there does."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.launch import tether


@pytest.mark.parametrize("junk", ["", "{", "null", "[]", "[1]", '"run"'])
def test_a_command_that_is_none_is_this_processs_own(monkeypatch, junk):
    monkeypatch.setenv(tether.COMMAND, junk)
    assert tether.command_line() == sys.argv[1:]


@given(st.lists(st.text(), min_size=1))
def test_a_command_arrives_as_it_was_typed(typed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(tether.COMMAND, json.dumps(typed))
        assert tether.command_line() == typed


@pytest.mark.parametrize("fd", ["junk", "-1", "99999"])
def test_a_report_that_nobody_can_take_is_no_error(monkeypatch, fd):
    monkeypatch.setenv(tether.LAUNCHER_PID, "1")
    monkeypatch.setenv(tether.REPORT_FD, fd)
    tether.report_is_out()


@pytest.mark.parametrize("pid", ["1", "junk"])
def test_a_rank_whose_launcher_is_another_process_ends(pid):
    dies = "from railgauge.collectives.launch.tether import die_with_parent; die_with_parent()"
    environ = os.environ | {tether.LAUNCHER_PID: pid}
    ran = subprocess.run([sys.executable, "-P", "-c", dies], env=environ, check=False, timeout=HANGS_AFTER_S)
    assert ran.returncode == 137


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["run", "-x", "TOKEN=hush", "-b", "8"], ["run", "-x", "TOKEN=...", "-b", "8"]),
        (["run", "-xTOKEN=hush=hush"], ["run", "-xTOKEN=..."]),
        (["run", "-x", "TOKEN=hush", "-x", "KEY=hush"], ["run", "-x", "TOKEN=...", "-x", "KEY=..."]),
        (["run", "-zx", "TOKEN=hush"], ["run", "-zx", "TOKEN=..."]),
        (["run", "-zxTOKEN=hush"], ["run", "-zxTOKEN=..."]),
        (["run", "--export", "TOKEN=hush\nhush", "-b", "8"], ["run", "--export", "TOKEN=...", "-b", "8"]),
        (["run", "--export=TOKEN=hush\nhush"], ["run", "--export=TOKEN=..."]),
        (
            ["run", "--export=NCCL_DEBUG=INFO", "--export", "HOME"],
            ["run", "--export=NCCL_DEBUG=INFO", "--export", "HOME"],
        ),
        (["run", "-x", "NCCL_DEBUG=INFO", "-x", "HOME"], ["run", "-x", "NCCL_DEBUG=INFO", "-x", "HOME"]),
        (["run", "--expect-transport", "A=B", "-x"], ["run", "--expect-transport", "A=B", "-x"]),
    ],
)
def test_a_command_is_shown_without_the_values_of_x(monkeypatch, typed, shown):
    monkeypatch.delenv(tether.COMMAND, raising=False)
    monkeypatch.setattr(sys, "argv", ["railgauge", *typed])
    assert tether.command_line() == shown
