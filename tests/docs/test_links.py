# SPDX-License-Identifier: Apache-2.0
"""Links between the pages of the repository lead somewhere, and docs/README.md leads to every page."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += [*sorted(DOCS.rglob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md"))]
SOURCE = re.compile(
    r"(?<![\w/.-])((?:topo|transports|collectives|cli|tests|scripts|fixtures|benchmarks)/[\w/-]+\.(?:py|h|cc|cuh|sh|toml|jsonl))\b"
)
PLACEHOLDER = re.compile("[A-Z]{4}")  # NAME, MACHINE
NAMED = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.(?:md|svg)")


def text(page):
    """A page without its code, in which `](` is no link."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """(target, anchor) of every link to a file of the repository."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target}#{anchor}"


def test_the_index_leads_to_every_page():
    index = DOCS / "README.md"
    assert {target for target, _ in links(index)} >= {*DOCS.rglob("*.md")} - {index}


def test_source_files_that_pages_name_are_there():
    named = {(page, path) for page in PAGES for path in SOURCE.findall(page.read_text())}
    real = [(page, path) for page, path in named if not PLACEHOLDER.search(path)]
    assert len(real) > 50
    assert [path for page, path in real if not (ROOT / path).exists() and not (page.parent / path).exists()] == []


def test_every_page_is_in_one_of_the_folders():
    assert {page.parent.name for page in DOCS.rglob("*.md")} == {
        "docs",
        "guide",
        "reference",
        "how-it-works",
        "internals",
    }


def test_pages_that_code_and_prose_name_are_there():
    listed = subprocess.run(
        ["git", "grep", "-hoIE", r"docs/[A-Za-z/-]+\.(md|svg)", "--", ":!*.jsonl"],  # data may cite other projects
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode == 128:
        pytest.skip("not a git checkout")
    named = {path for line in listed.stdout.splitlines() for path in NAMED.findall(line)}
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
