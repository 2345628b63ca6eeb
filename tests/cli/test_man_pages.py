# SPDX-License-Identifier: Apache-2.0
"""The man pages: made of the help, current, and read by man without a warning."""

import shutil
import subprocess

import pytest
from scripts.man_pages import FOLDER, man_pages

from railgauge.cli.main import COMMANDS

PAGES = man_pages()


def test_the_pages_are_those_of_the_help():
    """Else: python -m scripts.man_pages."""
    assert {path.name: path.read_text() for path in FOLDER.glob("*.1")} == PAGES


def test_there_is_a_page_for_every_command():
    assert {f"railgauge-{name}.1" for name in COMMANDS} | {"railgauge.1", "railgauge-topo-show.1"} <= set(PAGES)


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff here")
@pytest.mark.parametrize(
    "name", ["railgauge.1", "railgauge-run.1", "railgauge-topo-bind.1", "railgauge-graph-predict.1"]
)
def test_a_page_is_valid(name):
    command = ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=76n"]
    done = subprocess.run(command, input=PAGES[name], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "SYNOPSIS" in done.stdout
    assert ".SH" not in done.stdout
