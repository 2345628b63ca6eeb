# SPDX-License-Identifier: Apache-2.0
"""No command that reads what a user has at hand crashes or hangs on a file of the samples, whatever it is."""

from collections import defaultdict
from pathlib import Path

import pytest
from tests.cli.command import in_process

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
MOST_ALIKE = 3
"""Of one folder and one kind, such as the dumps of the ranks of one job."""
COMMANDS = ("topo show --from", "env --from", "topo lint", "graph lint", "log explain", "log hang")
INTERNAL = 70


def samples():
    """A few files of each kind in each folder."""
    kinds = defaultdict(list)
    for path in sorted(SAMPLES.rglob("*")):
        if path.is_file():
            kinds[path.parent, path.suffix or path.name.rstrip("0123456789")].append(path)
    return [path for alike in kinds.values() for path in alike[:: -(-len(alike) // MOST_ALIKE)]]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not at hand")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_sample_ends_in_an_internal_error(command):
    for path in samples():
        done = in_process(*command.split(), str(path))
        assert done.returncode != INTERNAL, (path.name, done.stderr)
        assert "internal error" not in done.stdout + done.stderr, path.name
