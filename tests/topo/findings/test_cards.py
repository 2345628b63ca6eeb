# SPDX-License-Identifier: Apache-2.0
"""The cards are the one home of what is said of a finding: each is whole, is reported by somebody, and its lines of
logs lead back to it.
"""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from itertools import combinations, groupby
from operator import attrgetter
from pathlib import Path

import pytest
from scripts import card_tables
from tests.cli.command import clean_environment
from tests.cli.command import in_process as railgauge
from tests.patience import HANGS_AFTER_S
from tests.sources import nodes
from tests.topo.jobs.logs.excerpts import LOGS
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.card import OF_LOGS, Area, cards, in_area, other_causes
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.rules import RULES
from railgauge.topo.jobs.logs.catalogue import OF_A_FAULT, catalogue, other_causes_of
from railgauge.topo.jobs.logs.verdict import verdict
from railgauge.topo.render.card import card_text

ROOT = Path(__file__).parents[3]
FOLDERS = ("topo", "transports", "collectives", "cli")
FOLDER = Path("topo/findings/cards")
MAKES_FINDINGS = {Path("topo/findings") / name for name in ("card.py", "file_rule.py", "node/findings_file.py")}
"""The cards; an error of railgauge itself, in place of a card's finding; a document that is read back."""
OF_A_CARD = ("RULE.card.remedy", "self.remedy if fix and level is not PASS else ''", "''")
FIXTURES = ("dgx-h100-nic-x8", "dgx-h100-nvlink-down", "vm-flat", "a100-4gpu", "pcie-switch", "laptop")
FAULTY_XML = '<system version="1"><cpu numaid="0"/><cpu numaid="0"/><gpu dev="0"/></system>'
ALL = list(cards().values())
SHOWN = [(card, line) for card in ALL for line in card.shows]


@cache
def sources():
    """The trees of all modules, by their path."""
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return {path.relative_to(ROOT): ast.parse(path.read_text()) for path in paths}


@cache
def calls():
    """The calls in each module, by its path."""
    return {path: [node for node in nodes(tree) if isinstance(node, ast.Call)] for path, tree in sources().items()}


def constants():
    """The names of the cards in their files, as (module, name)."""
    return {
        (f"railgauge.{'.'.join(path.with_suffix('').parts)}", node.targets[0].id)
        for path, tree in sources().items()
        if path.parent == FOLDER
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    }


@pytest.mark.parametrize("card", ALL, ids=lambda card: card.id)
def test_a_card_is_whole(card):
    assert card.title
    assert card.about
    assert card.levels
    assert card.remedy or not {Level.WARN, Level.FAIL} & {*card.levels}
    assert bool(card.shows) >= bool(card.patterns or card.shared_with)
    assert {*card.shared_with} <= {*cards()} - {card.id}
    text = card_text(card)
    assert text.startswith(f"{card.id}: {card.title} (")
    assert max(map(len, text.splitlines()[2:4])) <= 80
    assert ("How to fix it: " in text) == bool(card.remedy)
    assert not re.search(r"\b(?:GPU|NIC)[0-9]", card.remedy), "a device that the machine may not have"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_card_of_check_has_all_parts(rule):
    assert all((rule.card.passes, rule.card.reads, rule.card.sure))


def test_files_of_cards_hold_cards_alone():
    for path, tree in sources().items():
        if path.parent == FOLDER and path.name != "__init__.py":
            assert not [node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            assert in_area(Area[path.stem.upper()])
    assert len(constants()) == len(ALL)


def test_every_finding_is_made_by_a_card():
    named = {path: (call.func for call in called) for path, called in calls().items()}
    made = {path for path, called in named.items() if any(getattr(one, "id", "") == "Finding" for one in called)}
    assert made == MAKES_FINDINGS


def test_nobody_gives_a_finding_another_remedy():
    given = {
        (path.name, ast.unparse(word.value))
        for path, called in calls().items()
        if path.parent != FOLDER
        for call in called
        for word in call.keywords
        if word.arg == "remedy"
    }
    assert {(name, text) for name, text in given if text not in OF_A_CARD} == set()


def test_every_card_is_reported_by_somebody():
    used = {
        (node.module, name.name)
        for path, tree in sources().items()
        if path.parent != FOLDER
        for node in nodes(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    silent = {name for module, name in constants() - used}
    by_patterns = {card.id.upper().replace("-", "_") for area in OF_LOGS for card in in_area(area) if card.patterns}
    assert silent <= by_patterns


def test_no_rule_checks_nothing():
    """A card needs no check that exists for its sake."""
    empty = ("lambda _: ()", "lambda _: False")
    given = [word.value for called in calls().values() for call in called for word in call.keywords]
    texts = [ast.unparse(value) for value in given if isinstance(value, ast.Lambda)]
    assert not [text for text in texts if text in empty]


@pytest.mark.parametrize(("card", "line"), SHOWN, ids=lambda value: value.id if hasattr(value, "id") else value[:40])
@pytest.mark.parametrize("before", ["", "gpu-01:7:8 [0] ", "[rank3]: gpu-01:7:8 [0] "])
def test_a_line_of_a_card_leads_back_to_it(card, line, before):
    found = {finding.id for finding in verdict(read(f"step 1\n{before}{line}\nstep 2\n")).findings}
    assert found
    assert found <= {card.id, *card.shared_with}


@pytest.mark.parametrize("card", ALL, ids=lambda card: card.id)
def test_a_card_says_whom_it_shares_lines_with_and_no_others(card):
    answers = {
        finding.id
        for line in card.shows
        for finding in verdict(read(f"{line}\n")).findings
        if finding.level is not Level.INFO or finding.id != card.id
    }
    assert {*card.shared_with} == answers - {card.id}


@pytest.mark.parametrize(("card", "line"), [(card, line) for card in ALL for line in card.hints])
def test_a_hint_is_no_fault_by_itself(card, line):
    found = verdict(read(f"{line}\n")).findings
    assert card.id not in [one.id for one in found if one.level in (Level.WARN, Level.FAIL)]


def test_the_other_causes_of_a_line_are_those_that_show_it():
    entry = next(one for one in catalogue() if one.card.id == "rail-unreachable")
    assert set(other_causes_of(entry)) == {
        "duplicate-nic",
        "ib-port-down",
        "ib-errors-rising",
        "mtu-mismatch",
        "gid-index-invalid",
    }
    assert set(other_causes_of(entry)) <= set(other_causes(entry.card))
    line = "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129\n"
    [found] = verdict(read(line)).findings
    assert found.evidence["other_causes"] == list(other_causes_of(entry))


def test_the_order_of_cards_decides_nothing():
    """No line has the words of two patterns that are equally general, unless a less general one takes it, or both are
    of parts of NCCL.
    """
    lines = [line for _, line in SHOWN] + [line for content, *_ in LOGS.values() for line in content.splitlines()]
    of_faults = [entry for entry in catalogue() if entry.pattern.general <= OF_A_FAULT]
    general = attrgetter("pattern.general")
    taken = set()
    for _, equal in groupby(sorted(of_faults, key=general), key=general):
        having = {
            entry: {text for text in lines if text not in taken and re.search(entry.pattern.regex, text)}
            for entry in equal
        }
        for one, other in combinations(having, 2):
            assert one.card is other.card or not having[one] & having[other], (one.card.id, other.card.id)
        taken.update(*having.values())


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The findings of `check`, `gdr check`, `topo lint` and `log explain` on all kinds of inputs."""
    folder = tmp_path_factory.mktemp("reported")
    (folder / "topo.xml").write_text(FAULTY_XML)
    (folder / "log").write_text(
        "".join(content for content, *_ in LOGS.values()) + "\n".join(line for _, line in SHOWN)
    )
    answers = [railgauge("check", "--from", f"@{name}", "--json") for name in FIXTURES]
    answers += [railgauge("gdr", "check", "--from", f"@{name}", "--json") for name in FIXTURES[:3]]
    answers.append(railgauge("topo", "lint", str(folder / "topo.xml"), "--json"))
    answers.append(railgauge("log", "explain", str(folder / "log"), "--json"))
    return [finding for answer in answers for finding in json.loads(answer.stdout)["findings"]]


def test_one_id_has_one_remedy_and_only_its_levels(reported):
    assert len({finding["id"] for finding in reported}) > 50
    for finding in reported:
        card = cards()[finding["id"]]
        assert finding["remedy"] in ("", card.remedy)
        assert finding["remedy"] or finding["level"] in ("PASS", "INFO", "UNKNOWN")
        assert finding["level"] in {"PASS", *card.levels}


def test_all_tables_of_the_documentation_are_current():
    pages = {path.name: path.read_text() for path in card_tables.DOCS.rglob("*.md")}
    stale = [name for name, text in pages.items() if card_tables.written(text) != text]
    assert not stale, "run: python -m scripts.card_tables"
    marked = {found[2] for text in pages.values() for found in card_tables.MARKED.finditer(text)}
    assert marked == card_tables.NAMES


def test_explain_on_the_command_line():
    assert "Channel 00/0" in railgauge("explain", "gpu-direct-rdma").stdout
    wrong = railgauge("explain", "gpu-direct")
    assert wrong.returncode == 2
    assert "did you mean gpu-direct-rdma" in wrong.stderr
    listed = railgauge("explain").stdout
    assert all(name in listed for name in cards())


def test_the_version_is_told_without_cards():
    script = (
        "import sys; from railgauge.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(any(name.startswith('railgauge.topo.findings') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"],
        env=clean_environment(),
        capture_output=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert done.returncode == 0
