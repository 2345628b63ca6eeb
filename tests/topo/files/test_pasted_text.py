# SPDX-License-Identifier: Apache-2.0
"""What pages, mails and logs put around the lines of a paste is not of it."""

import html

import pytest
from tests.topo.facts.pasted import texts

from railgauge.topo.facts.pasted.read import read
from railgauge.topo.files.pasted_text import plain_text, without_prefixes

STAMP = "2024-05-01T12:00:{:02}.123456789Z "


def numbered(text, mark):
    return "\n".join(mark.format(number) + line for number, line in enumerate(text.split("\n"), 1))


AROUND = {
    "quoted": lambda text: numbered(text, "> "),
    "twice": lambda text: numbered(text, "> > "),
    "indented": lambda text: numbered(text, "      "),
    "numbers": lambda text: numbered(text, "{:5}  "),
    "grep -n": lambda text: numbered(text, "{}:"),
    "kubectl --prefix": lambda text: numbered(text, "[pod/train-0/main] "),
    "kubectl --timestamps": lambda text: "\n".join(STAMP.format(n % 60) + x for n, x in enumerate(text.split("\n"))),
    "mpirun": lambda text: numbered(text, "[1,0]<stdout>:"),
    "srun": lambda text: numbered(text, "0: "),
    "journal": lambda text: numbered(text, "May  1 12:00:00 node1 start.sh[42]: "),
    "logging": lambda text: numbered(text, "2024-05-01 12:00:00,123 - INFO - "),
    "ray": lambda text: numbered(text, "(Worker pid=12) "),
    "a mark of byte order": lambda text: "\ufeff" + text,
    "a page": lambda text: f"<details><summary>x</summary>\n\n```shell\n{html.escape(text)}\n```\n</details>\n",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("tool", ["nvidia-smi topo -m", "nvidia-smi -q", "ibstat", "show_gids", "dmesg", "lspci -t"])
def test_the_machine_is_the_same(tool, around):
    def machine(text):
        found = read([("x", text.encode())])
        return found.manifest, found.texts, found.links, {**found.facts, "kernel_log": None}

    text = texts.ALL[tool].rstrip("\n")
    assert machine(AROUND[around](text)) == machine(text)


def test_lines_keep_their_place():
    text = "```\n> 10.0.0.1\n> &lt;a&gt; **b**\n```"
    assert plain_text(text.encode()).split("\n") == ["", "> 10.0.0.1", "> <a> b", ""]
    assert without_prefixes("> 10.0.0.1\n> 10.0.0.2") == "10.0.0.1\n10.0.0.2"


@pytest.mark.parametrize("text", ["8 2 float\n16 4 float\n32 8 float", "a: 1\nb: 2\nc: 3", "0 A\n0 B\n0 C", ""])
def test_columns_of_a_table_are_no_prefixes(text):
    assert without_prefixes(text) == text
