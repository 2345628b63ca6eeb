# SPDX-License-Identifier: Apache-2.0
"""Real hangs with known culprits: exactly these are named, in the first finding, and a stuck job never exits 0.

The files are not part of the repository; without them there is nothing to do.
"""

from pathlib import Path

import pytest
from tests.cli.command import in_process
from tests.topo.jobs.hang.reading import scene_of

from railgauge.topo.jobs.hang.verdict import verdict

PLACES = [folder / "shared" / "samples" for folder in Path(__file__).parents[4:7]]
SAMPLES = next((place for place in PLACES if place.is_dir()), PLACES[0])
TRUTH = {
    "real/fr/lock_gil_1st": ("rank-behind", [9, 14], "ranks 9,14 have not entered "),
    "real/fr/gpu_error_1st": ("rank-stuck", [12, 14], "ranks 12,14 are still in "),
    "real/hang/W02-llamafactory-7396.log": ("evidence-short", [], "ranks 0,2-4 wait in all_reduce #1580 "),
    "real/hang/W06-diffsynth458-sizes-differ.log": (
        "operation-mismatch",
        [4],
        "rank 4 called coalesced of 56320; rank 6 called coalesced of 76800: counts differ",
    ),
    "real/hang/W08-xvla65-new-format.log": (
        "evidence-short",
        [0, 1],
        "rank 2 waits in collective #16172, called up to #16265 (process group 0 (default_pg), at least 3 ranks); no "
        "data from ranks 0-1",
    ),
    "real/hang/R02-nccl1730-ras-ok-watchdog.txt": (
        "evidence-short",
        [*range(118), *range(119, 256)],
        "(process group 0 (default_pg), 256 ranks); no data from ranks 0-117,119-255",
    ),
    "ncclras-mismatch.txt": ("rank-behind", [*range(12), *range(14, 32)], "ranks 12-13 have called it"),
}
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")


@pytest.mark.parametrize("name", TRUTH)
def test_the_first_finding_names_the_culprits(name):
    if not (SAMPLES / name).exists():
        pytest.skip("the sample is not here")
    identifier, ranks, words = TRUTH[name]
    (finding,) = verdict(scene_of(SAMPLES / name)).findings
    assert (finding.id, finding.evidence["ranks"]) == (identifier, ranks)
    assert words in finding.message
    assert in_process("log", "hang", str(SAMPLES / name)).returncode == 1
