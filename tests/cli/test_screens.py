# SPDX-License-Identifier: Apache-2.0
"""The screens that people read, on terminals of 80, 100 and 160 columns: no line is wider, and no word is cut."""

import fcntl
import os
import pty
import re
import struct
import termios
from multiprocessing.connection import wait

import pytest
from tests.cli.command import clean_environment, railgauge, start_fork
from tests.patience import HANGS_AFTER_S
from tests.topo.findings.cluster.fleets import usual, write

WIDTHS = (80, 100, 160)
LOG = (
    "gpu1:10:10 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
    "gpu1:10:10 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"
)
GPUS = [f"GPU{number}" for number in range(8)]
SMI = "".join("\t".join((start, *("X" if start == end else "SYS" for end in GPUS))) + "\n" for start in GPUS)
"""A matrix as nvidia-smi prints it, of eight GPUs without NVLinks."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
GUIDES = re.compile("[│├└─]+")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A cluster of six nodes with odd ones, and a log."""
    folder = tmp_path_factory.mktemp("screens")
    (folder / "cluster").mkdir()
    faulty = {2: "dgx-h100-nic-x8", 4: "dgx-h100-port-down"}
    for number in range(1, 7):
        write(folder / "cluster", f"gpu{number:02}", usual(faulty.get(number, "dgx-h100")))
    (folder / "nccl.log").write_text(LOG)
    (folder / "smi.txt").write_text("\t".join(("", *GPUS)) + "\n" + SMI)
    return folder


def on_terminal(arguments, columns, folder):
    """What a command prints on a terminal so wide."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = clean_environment(TERM="xterm-256color")
    process = start_fork(arguments, str(folder), environment, os.ttyname(follower), os.devnull)
    shown, ended = b"", False
    while not ended:
        ended = leader not in wait([leader, process.sentinel], HANGS_AFTER_S)
        shown += b"" if ended else os.read(leader, 65536)
    os.close(leader)
    os.close(follower)
    process.join(HANGS_AFTER_S)
    return COLOUR.sub("", shown.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("arguments", [("--color", "never"), ("--color", "always")])
def test_a_terminal_without_colour_wraps_too(arguments, places):
    shown = on_terminal((*SCREENS["check"], *arguments), 80, places)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_narrow_prediction_keeps_what_changes_and_names_what_it_leaves_out(places):
    shown = on_terminal(SCREENS["graph predict --fixed"], 80, places)
    assert "# (algbw, old algo, " in shown
    head = next(line for line in shown.splitlines() if line.startswith("#         size"))
    assert head.split()[-2:] == ["change", "limit"] or head.split()[-1] == "change"


def test_a_narrow_table_of_nodes_names_what_it_leaves_out(places):
    narrow, wide = (on_terminal(SCREENS["cluster check --table"], width, places).splitlines() for width in (80, 160))
    assert narrow[-1] == "(message left out: the terminal is too narrow)"
    assert wide[1].split()[-1] == "message"
    assert "left out" not in wide[-1]


def words(text):
    return GUIDES.sub(" ", text).split()


SCREENS = {
    "check": ("check", "--from", "@dgx-h100-nvlink-down"),
    "check -v": ("check", "--from", "@dgx-h100-nic-x8", "-v"),
    "gdr check": ("gdr", "check", "--from", "@dgx-h100"),
    "cluster check": ("cluster", "check", "--from", "cluster"),
    "cluster check --table": ("cluster", "check", "--from", "cluster", "--table"),
    "cluster dump": ("cluster", "dump", "--from", "cluster"),
    "topo show": ("topo", "show", "--from", "@dgx-h100"),
    "topo show --view matrix": ("topo", "show", "--from", "@dgx-h100", "--view", "matrix"),
    "topo paths": ("topo", "paths", "GPU0", "mlx5_0", "--from", "@dgx-h100"),
    "topo paths, all": ("topo", "paths", "--from", "@dgx-h100-nic-x8"),
    "topo paths of a slow link": ("topo", "paths", "GPU0", "mlx5_0", "--from", "@dgx-h100-nic-x8"),
    "topo show of a slow link": ("topo", "show", "--from", "@dgx-h100-nic-x8"),
    "topo show --against": ("topo", "show", "--view", "matrix", "--from", "@dgx-h100", "--against", "smi.txt"),
    "graph predict": ("graph", "predict", "--from", "@dgx-h100", "--nodes", "2"),
    "graph predict --fixed": ("graph", "predict", "--from", "@dgx-h100-nic-x8", "--nodes", "2", "--fixed"),
    "graph search": ("graph", "search", "--from", "@dgx-h100"),
    "graph show": ("graph", "show", "--from", "@dgx-h100", "--nodes", "2"),
    "topo pick": ("topo", "pick", "-n", "4", "--from", "@dgx-h100"),
    "log explain": ("log", "explain", "nccl.log"),
    "explain": ("explain", "gpu-lost"),
    "explain without id": ("explain",),
    "help": ("gate", "nfd", "--help"),
    "machines": ("machines",),
}
DROPS = ("gdr check", "cluster check --table", "topo show --view matrix", "graph predict", "graph predict --fixed")
"""Tables, which leave out columns: all that they print stands in the whole one, but for the note."""


@pytest.mark.parametrize("name", SCREENS)
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(name, places, monkeypatch):
    monkeypatch.chdir(places)
    whole = railgauge(*SCREENS[name]).stdout
    assert whole
    for columns in WIDTHS:
        shown = on_terminal(SCREENS[name], columns, places)
        wide = [line for line in shown.splitlines() if len(line) > columns]
        assert not wide, f"{columns}: {wide}"
        if name in DROPS:
            kept = re.sub(r"\([^()]* left\s+out: the\s+terminal\s+is\s+too\s+narrow\)", "", shown)
            assert {*words(kept)} <= {*words(whole), *words(whole.replace(",", ", "))}
        else:
            assert "".join(words(shown)) == "".join(words(whole))
            assert {*words(shown)} <= {*words(whole), *words(whole.replace(",", ", "))}
