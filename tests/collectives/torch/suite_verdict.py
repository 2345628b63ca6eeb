# SPDX-License-Identifier: Apache-2.0
"""Which tests Gloo passes and railgauge does not, from what suite.py printed; the end of scripts/test-torch."""

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path

EXCEPTIONS = tomllib.loads(Path(__file__).with_name("suite.toml").read_text())["exceptions"]


def outcomes(path):
    """By test; what the tests themselves print is passed over."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.startswith('{"test"')]
    return {line["test"]: line["outcome"] for line in lines}


def verdict(ours, gloo):
    """The tests that only Gloo passes, and those listed as such that both pass."""
    behind = sorted(name for name, outcome in gloo.items() if outcome == "pass" and ours.get(name) != "pass")
    unexpected = [name for name in behind if name not in EXCEPTIONS]
    return unexpected, sorted(name for name in EXCEPTIONS if ours.get(name) == "pass")


def main(folder, *sizes):
    wrong = False
    for ranks in sizes:
        ours, gloo = (outcomes(Path(folder, f"{name}-{ranks}.jsonl")) for name in ("railgauge", "gloo"))
        unexpected, needless = verdict(ours, gloo)
        counts = [f"{name} {dict(Counter(one.values()))}" for name, one in (("railgauge", ours), ("Gloo", gloo))]
        print(
            f"{ranks} ranks: {', '.join(counts)}; only Gloo passes, not listed: {unexpected}; listed: {needless} pass"
        )
        wrong |= bool(unexpected or not gloo)
    sys.exit(wrong)


if __name__ == "__main__":
    main(*sys.argv[1:])
