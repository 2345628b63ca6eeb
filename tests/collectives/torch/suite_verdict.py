# SPDX-License-Identifier: Apache-2.0
"""Which tests another back end passes and railgauge does not, from what suite.py or suite_on_gpus.py printed:

python -m tests.collectives.torch.suite_verdict gloo|nccl FOLDER WORLD_SIZE...
"""

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path

EXCEPTIONS = tomllib.loads(Path(__file__).with_name("suite.toml").read_text())["exceptions"]
"""By the other back end, those that are known, with their reasons."""


def outcomes(path):
    """By test; what the tests themselves print is passed over."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.startswith('{"test"')]
    return {line["test"]: line["outcome"] for line in lines}


def verdict(ours, theirs, known):
    """The tests that only the other passes, and those known as such that both pass."""
    behind = sorted(name for name, outcome in theirs.items() if outcome == "pass" and ours.get(name) != "pass")
    unexpected = [name for name in behind if name not in known]
    return unexpected, sorted(name for name in known if ours.get(name) == "pass")


def main(peer, folder, *sizes):
    wrong = False
    for ranks in sizes:
        ours, theirs = (outcomes(Path(folder, f"{name}-{ranks}.jsonl")) for name in ("railgauge", peer))
        unexpected, needless = verdict(ours, theirs, EXCEPTIONS[peer])
        counts = [f"{name} {dict(Counter(one.values()))}" for name, one in (("railgauge", ours), (peer, theirs))]
        print(
            f"{ranks} ranks: {', '.join(counts)}; only {peer} passes, not listed: {unexpected}; listed: {needless} pass"
        )
        wrong |= bool(unexpected or "pass" not in theirs.values())
    sys.exit(wrong)


if __name__ == "__main__":
    main(*sys.argv[1:])
