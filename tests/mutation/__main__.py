# SPDX-License-Identifier: Apache-2.0
"""Faults put into the code on purpose, drawn at random: what do the tests not see?

python -m tests.mutation [--seed S] [--count N] [--budget SECONDS] [--jobs N] [--list] FOLDER ...
"""

import argparse
import json
import random
import sys
import tomllib
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.mutation.mutants import Mutant, draw
from tests.mutation.reach import LAYERS, Map
from tests.mutation.tree import ROOT, Tree, Trees
from tests.mutation.trial import Verdict, trial

WORK = ROOT / "build" / "mutation"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
WIDTH = 90


def main() -> int:
    """Run it; 0 when all were killed, 4 when one survived."""
    options = arguments()
    drawn = {folder: draw(ROOT, folder, seed=options.seed, count=options.count) for folder in options.folders}
    if options.list:
        for one in (mutant for mutants in drawn.values() for mutant in mutants):
            print(words(one))
        return 0
    known = equivalent()
    trees = Trees(WORK, options.jobs)
    survived = 0
    for folder, mutants in drawn.items():
        reach = Map(WORK / "reach.json")
        reach.ask(trees, folder)
        results = Counter[str]()

        def tried(tree: Tree, mutant: Mutant, reach: Map = reach) -> Verdict:
            why = known.get(mutant.place)
            return Verdict("equivalent", why) if why else trial(tree, reach, mutant, budget_s=options.budget)

        with (WORK / f"{folder.replace('/', '-')}-{options.seed}.jsonl").open("w", encoding="utf-8") as lines:
            for number, (mutant, verdict) in enumerate(zip(mutants, trees.map(tried, mutants), strict=True), 1):
                results[verdict.result] += 1
                print(f"{number:3} {verdict.result:10} {words(mutant)}\n{'':15}{said(verdict)}", flush=True)
                print(json.dumps(asdict(mutant) | asdict(verdict)), file=lines, flush=True)
        print(f"{folder}, seed {options.seed}: {', '.join(f'{n} {result}' for result, n in sorted(results.items()))}")
        survived += results["survived"]
    return 4 if survived else 0


def words(mutant: Mutant) -> str:
    """Where it is and what."""
    differ = (place for place, (one, other) in enumerate(zip(mutant.was, mutant.now, strict=False)) if one != other)
    begin = max(0, next(differ, 0) - WIDTH // 2)
    was, now = (_cut(text, begin) for text in (mutant.was, mutant.now))
    return f"{mutant.path}:{mutant.line} {mutant.function}: {was}  ->  {now}"


def _cut(text: str, begin: int) -> str:
    """A window of a text, so that what differs is in it."""
    return f"{'…' * (begin > 0)}{text[begin : begin + WIDTH]}{'…' * (len(text) > begin + WIDTH)}"


def said(verdict: Verdict) -> str:
    """How it ended."""
    if verdict.result == "equivalent":
        return verdict.by
    beyond = f", {verdict.left_out} more beyond the budget" if verdict.left_out else ""
    return f"{verdict.by or f'{verdict.tried} test files{beyond}'}, {verdict.seconds:.0f} s"


def equivalent() -> dict[tuple[str, str, str, str], str]:
    """The mutants that change nothing that anybody could see, each with the reason."""
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(one["path"], one["function"], one["was"], one["now"]): one["why"] for one in listed}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="mutation", description="faults put into the code on purpose, drawn at random"
    )
    add = parser.add_argument
    add("folders", nargs="*", metavar="FOLDER", help=f"of the code: {', '.join(LAYERS)}, or one in them (all four)")
    add("--seed", type=int, default=random.randrange(10**6), help="of what is drawn (a random one)")
    add("--count", type=int, default=40, help="mutants in each folder (%(default)s)")
    add("--budget", type=float, default=60.0, metavar="SECONDS", help="of tests for one mutant (%(default)g)")
    add("--jobs", type=int, default=1, metavar="N", help="copies of the tree at work side by side (%(default)s)")
    add("--list", action="store_true", help="print what is drawn, and run nothing")
    options = parser.parse_args()
    options.folders = [folder.strip("/") for folder in options.folders] or [*LAYERS]
    if unknown := [f for f in options.folders if f.split("/")[0] not in LAYERS or not (ROOT / f).is_dir()]:
        parser.error(f"{', '.join(unknown)}: not a folder of the code ({', '.join(LAYERS)}, or one in them)")
    if min(options.count, options.jobs) < 1 or options.budget <= 0:
        parser.error("--count and --jobs are at least 1, --budget more than 0")
    return options


if __name__ == "__main__":
    sys.exit(main())
