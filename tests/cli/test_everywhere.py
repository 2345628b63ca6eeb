# SPDX-License-Identifier: Apache-2.0
"""What holds for every command line: --debug and --color anywhere, this machine by name, a hint at what was meant."""

import pytest
from tests.cli.command import in_process, railgauge
from tests.cli.test_help_pages import ALL

from railgauge.cli import everywhere

CHECK = ("check", "--from", "@dgx-h100-nic-x8")
TREE = ("topo", "show", "--from", "@h200x4")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_stands_anywhere(place):
    words = ["topo", "show"]
    words.insert(place, "--debug")
    done = in_process(*words, "--from", "/nonexistent")
    assert done.returncode == 5
    assert "Traceback" in done.stderr
    assert "Traceback" not in in_process("topo", "show", "--from", "/nonexistent").stderr


@pytest.mark.parametrize(
    ("args", "env", "coloured"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {}, True),
        (("--color=always",), {"NO_COLOR": "1", "TERM": "dumb"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "auto"), {"FORCE_COLOR": "1"}, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("command", [CHECK, TREE], ids=lambda one: one[0])
def test_colours_are_as_asked(command, args, env, coloured):
    for line in ((*args, *command), (*command, *args)):
        assert ("\x1b[" in in_process(*line, **env).stdout) is coloured


def test_another_word_for_a_colour_is_a_wrong_usage():
    done = in_process("check", "--color", "blue")
    assert (done.returncode, done.stdout) == (2, "")
    assert "auto, always, never" in done.stderr


def test_what_follows_two_dashes_is_another_programs():
    rest = everywhere.take(["topo", "bind", "--debug", "--", "x", "--debug", "--color"])
    assert rest == ["topo", "bind", "--", "x", "--debug", "--color"]
    assert everywhere.given() == ["--debug"]
    assert everywhere.take([]) == everywhere.given() == []


def test_ranks_get_them_too():
    done = railgauge("link", "--ranks", "2", "--device", "cpu", "--color", "always", "--debug", "--dry-run")
    assert "link" in done.stdout
    assert "--color always --debug" in done.stdout


@pytest.mark.parametrize(
    ("args", "near"),
    [
        (("chek",), "check"),
        (("topo", "pahts"), "paths"),
        (("topo", "show", "--form", "@laptop"), "--from"),
        (("topo", "show", "--view", "matrx"), "matrix"),
        (("topo", "show", "--from", "@dgx-h10"), "@dgx-h100"),
        (("topo", "paths", "GPU0", "mlx_0", "--from", "@dgx-h100"), "mlx5_0"),
        (("explain", "pcie-degraded"), "pcie-link-degraded"),
        (("check", "--only", "pcie-degraded"), "pcie-link-degraded"),
        (("run", "allreduce"), "all_reduce"),
        (("graph", "search", "--set", "NCCL_CROSNIC=1", "--from", "@h200x4"), "NCCL_CROSS_NIC"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else one,
)
def test_a_similar_name_is_suggested(args, near):
    done = in_process(*args)
    assert done.returncode in (2, 5)
    assert f"did you mean {near}" in done.stderr


def test_nothing_is_suggested_for_a_name_that_is_like_none():
    assert "did you mean" not in in_process("zzz").stderr
    assert "did you mean" not in in_process("explain", "zzz").stderr


MORE = {
    "predict": ("-b", "8", "-e", "8"),
    "pick": ("-n", "1"),
    "lint": ("graph.txt",),
    "bind": ("--dry-run", "true"),
    "watch": ("--count", "1"),
}
NAMED_ELSEWHERE = (("topo", "lint"), ("log", "explain"), ("cluster", "check"), ("cluster", "dump"))
"""--from is what a file is compared with, or a folder."""
WITH_FROM = [words for words, one in ALL if any("--from" in option.opts for option in one.params)]


@pytest.mark.parametrize("words", [one for one in WITH_FROM if one not in NAMED_ELSEWHERE], ids=" ".join)
def test_this_machine_can_be_named(words):
    plain, named = (in_process(*words, *source, *MORE.get(words[-1], ())) for source in ((), ("--from", "live")))
    assert (named.returncode, named.stderr) == (plain.returncode, plain.stderr)
    assert "live" not in named.stderr


def test_this_machine_can_be_what_a_log_is_compared_with(tmp_path):
    (tmp_path / "log").write_text("a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n")
    done = in_process("log", "explain", str(tmp_path / "log"), "--from", "live")
    assert done.returncode in (0, 1)
    assert done.stdout


def test_a_run_without_ranks_says_what_it_took_and_how_to_get_more():
    small = ("run", "all_reduce", "-b", "8", "-e", "8", "-n", "1", "--device", "cpu")
    assert "1 rank in host memory; --ranks N starts N" in railgauge(*small).stderr
    assert "1 rank in" not in railgauge(*small, "-g", "2").stderr
