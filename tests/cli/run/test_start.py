# SPDX-License-Identifier: Apache-2.0
"""What a process of a job does before its ranks run: it is tied to its launcher, and reports what it cannot start."""

import os

from tests.collectives.report.test_nccl_tests import JOB

from railgauge.cli.run import start
from railgauge.cli.run.result_file import RunAnswer


def test_a_rank_is_tied_to_its_launcher_and_says_that_its_failure_is_told(monkeypatch, capfd):
    done = []
    for name in ("die_with_parent", "hear_interrupts_once", "report_is_out"):
        monkeypatch.setattr(start, name, lambda name=name: done.append(name))
    missing = os.path.join(os.sep, "nowhere", "older.json")
    assert start.run_here(JOB, start.ALONE, RunAnswer(compare=missing)) == 5
    assert done == ["die_with_parent", "hear_interrupts_once", "report_is_out"]
    assert missing in capfd.readouterr().err
