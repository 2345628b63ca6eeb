# SPDX-License-Identifier: Apache-2.0
"""Every file that is given as a sample is an answer or bad input in each command that takes files, never an internal
error.

The files are not part of the repository; without them there is nothing to do.
"""

from pathlib import Path

import pytest
from tests.cli.command import in_process

PLACES = [folder / "shared" / "samples" for folder in Path(__file__).parents[2:5]]
SAMPLES = next((place for place in PLACES if place.is_dir()), PLACES[0])
COMMANDS = ("log explain", "log hang", "check --from")
LARGEST = 1 << 19
ANSWERS = (0, 1, 3, 4, 5)
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")


@pytest.mark.parametrize("command", COMMANDS)
def test_any_sample_is_an_answer_or_bad_input(command):
    files = [path for path in sorted(SAMPLES.rglob("*")) if path.is_file() and path.stat().st_size <= LARGEST]
    odd = {
        path.name: run for path in files if (run := in_process(*command.split(), str(path))).returncode not in ANSWERS
    }
    assert not {name: (run.returncode, run.stderr[-500:]) for name, run in odd.items()}
