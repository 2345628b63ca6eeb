# SPDX-License-Identifier: Apache-2.0
"""Help by either flag, and the exit status that no answer has."""

import pytest
from tests.cli.command import in_process, railgauge

from railgauge.cli import main
from railgauge.cli.main import dispatch


@pytest.mark.parametrize("group", ["topo", "graph"])
@pytest.mark.parametrize("below", [(), ("show",)])
def test_h_is_help(group, below):
    short, long = railgauge(group, *below, "-h"), railgauge(group, *below, "--help")
    assert (short.returncode, short.stdout) == (0, long.stdout)
    assert "Usage:" in short.stdout


@pytest.mark.parametrize("command", main.COMMANDS)
def test_no_command_offers_to_change_the_shell(command):
    help_text = in_process(command, "--help").stdout
    assert "--help" in help_text
    assert command == "completion" or "completion" not in help_text


def test_an_error_of_railgauge_itself_is_no_finding(monkeypatch, capsys):
    monkeypatch.setitem(main.COMMANDS, "broken", ("no.such.module", ""))
    assert main.dispatch(["broken"]) == 70
    assert "unexpected ModuleNotFoundError" in capsys.readouterr().err
    assert "70 an error of railgauge itself" in main.help_text()


def test_the_first_page_names_what_a_group_has():
    lines = {line.split()[0]: line for line in main.help_text().splitlines() if line.startswith("  ")}
    assert all(name in lines["graph"] for name in ("search", "show", "lint", "join", "predict"))
    assert all(name in lines["topo"] for name in ("pick", "bind"))


def test_without_a_command_the_help_is_a_usage_error_and_asked_for_it_is_none():
    assert [dispatch(args) for args in ([], ["--help"], ["-h"], ["--version"])] == [2, 0, 0, 0]


def test_an_unknown_command_is_a_usage_error_with_the_nearest(capsys):
    assert dispatch(["chekc"]) == 2
    assert "no such command 'chekc'; did you mean check" in capsys.readouterr().err
