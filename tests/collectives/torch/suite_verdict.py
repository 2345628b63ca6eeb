# SPDX-License-Identifier: Apache-2.0
"""Which tests another back end passes and railgauge does not, from what suite.py or suite_on_gpus.py printed:

python -m tests.collectives.torch.suite_verdict gloo|nccl FOLDER WORLD_SIZE...

The other needs a result only for tests that railgauge does not pass.
"""

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

EXCEPTIONS = tomllib.loads(Path(__file__).with_name("suite.toml").read_text())["exceptions"]
"""By the other back end, those that are known, with their reasons."""


def outcomes(path):
    """By test; what the tests themselves print is passed over."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.startswith('{"test"')]
    return {line["test"]: line["outcome"] for line in lines}


class Verdict(NamedTuple):
    """Names of tests. It is good if the last two have none."""

    behind: list[str]
    """Only the other passes them."""
    needless: list[str]
    """Those known as such that railgauge passes."""
    unexpected: list[str]
    """Those of `behind` that are not known."""
    unknown: list[str]
    """Railgauge does not pass them, and the other was not run."""


def verdict(ours, theirs, known):
    """What two back ends' outcomes by test say; `known` are tests that only the other may pass."""
    rest = {name for name in ours.keys() | theirs.keys() if ours.get(name) != "pass"}
    behind = sorted(name for name in rest if theirs.get(name) == "pass")
    return Verdict(
        behind,
        sorted(name for name in known if ours.get(name) == "pass"),
        [name for name in behind if name not in known],
        sorted(name for name in rest if theirs.get(name, "not run") == "not run"),
    )


def main(peer, folder, *sizes):
    wrong = False
    for ranks in sizes:
        ours, theirs = (outcomes(Path(folder, f"{name}-{ranks}.jsonl")) for name in ("railgauge", peer))
        counts = [f"{name} {dict(Counter(one.values()))}" for name, one in (("railgauge", ours), (peer, theirs))]
        found = verdict(ours, theirs, EXCEPTIONS[peer])
        print(f"{ranks} ranks: {', '.join(counts)}")
        print(
            f"railgauge passes {list(ours.values()).count('pass')}; of the others {peer} passes exactly: {found.behind}"
        )
        print(f"not listed: {found.unexpected}; not run on {peer}: {found.unknown}; listed: {found.needless} pass")
        wrong |= bool(found.unexpected or found.unknown or "pass" not in theirs.values())
    sys.exit(wrong)


if __name__ == "__main__":
    main(*sys.argv[1:])
