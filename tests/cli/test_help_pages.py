# SPDX-License-Identifier: Apache-2.0
"""The help of all commands: one style, wrapped between words, examples that are valid."""

import importlib
import re
import shlex

import pytest
from tests.cli.command import in_process, railgauge
from typer.main import get_command

from railgauge.cli import everywhere, main
from railgauge.cli.help.first_page import first_page
from railgauge.cli.help.page import NO_BREAK, page_of, visible
from railgauge.cli.help.text import page_text
from railgauge.collectives.link.gpu_way import COPY_METHODS
from railgauge.collectives.link.way import TRANSPORTS


def commands(command, words):
    """All commands from one on, with the words that call them."""
    return [(words, command), *(found for name, one in visible(command) for found in commands(one, (*words, name)))]


ALL = [
    found
    for name, (module, _) in main.COMMANDS.items()
    for found in commands(get_command(importlib.import_module(module).app), (name,))
]
PAGES = [pytest.param(page_of(command, " ".join(("railgauge", *words))), id=" ".join(words)) for words, command in ALL]
PAGES.append(pytest.param(first_page(), id="railgauge"))


def sentences(page):
    return [text for _, rows in page.sections for _, text in rows]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_one_style(page):
    assert page.usage.startswith("railgauge ")
    assert page.sections[-1][1][-3:] == everywhere.ROWS
    assert all(text.endswith((".", ")")) for text in (*page.paragraphs, *sentences(page)))
    assert all(rows for _, rows in page.sections)
    names = [name for _, rows in page.sections for name, _ in rows]
    assert not [name for name in names if re.search(r"[<>]|\b(str|int|float|range)\b", name)]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("columns", [40, 80, 100])
def test_a_page_is_wrapped_between_words(page, columns):
    text = page_text(page, columns)
    whole = {word for one in (page.usage, *sentences(page)) for word in one.replace(NO_BREAK, " ").split()}
    assert whole <= set(text.split())
    for line in text.splitlines():
        assert len(line) <= max(columns, 80) or line.strip() in page.examples, line


@pytest.mark.parametrize(("words", "command"), ALL, ids=lambda one: " ".join(one) if isinstance(one, tuple) else "")
def test_every_option_has_a_long_name_and_every_value_a_word_for_it(words, command):
    for option in (one for one in command.params if one.param_type_name == "option"):
        assert any(name.startswith("--") for name in option.opts), option.opts
        assert option.is_flag or option.metavar or getattr(option.type, "choices", None), option.opts
        assert option.hidden or option.help, option.opts
    assert all(one.metavar and one.help for one in command.params if one.param_type_name == "argument")


@pytest.mark.parametrize("page", PAGES)
def test_examples_are_valid(page):
    """They parse."""
    assert page.examples or " COMMAND" in page.usage
    for example in page.examples:
        called = example[example.index("railgauge") :].partition(" | ")[0].partition(" > ")[0].rstrip('")')
        name, *args = shlex.split(called)[1:]
        command = get_command(importlib.import_module(main.COMMANDS[name][0]).app)
        while visible(command):
            command = dict(visible(command))[args.pop(0)]
        if "--help" not in args:
            command.make_context(name, args)


def test_transports_that_are_accepted_are_in_the_help():
    for command in (("link",), ("cluster", "link"), ("run",)):
        text = in_process(*command, "--help").stdout
        assert all(name in text for name in {*TRANSPORTS, *COPY_METHODS})


def test_help_needs_no_rich():
    done = railgauge("check", "--help", PYTHONPROFILEIMPORTTIME="1")
    assert " typer" in done.stderr
    assert not re.search(r"\| +rich", done.stderr)


def test_machines_are_listed_with_a_line_each():
    from railgauge.topo.facts.named_source import fixtures

    lines = in_process("machines").stdout.splitlines()
    named = [line.partition(" ") for line in lines if line.startswith("@")]
    assert [name for name, _, _ in named] == [f"@{name}" for name in fixtures()]
    assert all(text.strip() for _, _, text in named)


def test_findings_are_listed_by_area():
    from railgauge.topo.findings.card import Area, cards

    text = in_process("explain").stdout
    listed = re.findall(r"^  ([a-z0-9-]+)  +\S", text, re.MULTILINE)
    assert sorted(listed) == sorted(card.id for card in cards().values())
    areas = [line.rstrip(":") for line in text.splitlines() if line and not line.startswith(" ")]
    assert areas == [str(area) for area in Area if str(area) in areas]
    assert max(map(len, text.splitlines())) <= 80
