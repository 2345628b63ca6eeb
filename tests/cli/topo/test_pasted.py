# SPDX-License-Identifier: Apache-2.0
"""Commands take outputs of other tools for --from: files, packed, folders, patterns, stdin, several."""

import gzip
import subprocess

import pytest
from tests.cli.command import clean_environment, command, in_process
from tests.patience import HANGS_AFTER_S
from tests.topo.facts.pasted import texts

COMMANDS = (
    ("topo", "show"),
    ("topo", "show", "--view", "matrix"),
    ("topo", "show", "--view", "rdma"),
    ("topo", "show", "--json"),
    ("topo", "paths"),
    ("topo", "pick", "-n", "1"),
    ("topo", "dump"),
    ("graph", "search"),
    ("graph", "show"),
    ("graph", "predict"),
    ("gdr", "check"),
    ("env",),
    ("check",),
    ("gate", "verdict"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_takes_a_paste(tmp_path, words):
    path = tmp_path / "smi.txt"
    path.write_text(texts.TOPO_M)
    result = in_process(*words, "--from", str(path))
    assert result.returncode in (0, 1), result.stderr
    assert result.stdout


def test_what_was_assumed_is_said(tmp_path):
    (tmp_path / "smi.txt").write_text(texts.TOPO_M)
    said = in_process("topo", "show", "--from", str(tmp_path / "smi.txt")).stderr
    assert "assumed: nvidia-smi topo -m has no bus ids" in said
    assert "compute capability 9.0 is assumed, as GPUs with 18 NVLinks have" in said


def test_folders_patterns_and_packed_files_are_as_several(tmp_path):
    folder = tmp_path / "node"
    folder.mkdir()
    (folder / "a").write_bytes(gzip.compress(texts.LSPCI.encode()))
    (folder / "b").write_text(texts.IBSTAT.split("CA 'mlx5_1'")[0])
    given = ["--from", str(folder / "a"), "--from", str(folder / "b")]
    several = in_process("topo", "show", *given).stdout
    assert "mlx5_0" in several
    assert in_process("topo", "show", "--from", str(folder)).stdout == several
    assert in_process("topo", "show", "--from", f"{folder}/*").stdout == several


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gz"])
def test_stdin_is_a_machine(packed):
    words = command("topo", "show", "--from", "-")
    done = subprocess.run(
        words, input=packed(texts.LSPCI.encode()), env=clean_environment(), capture_output=True, timeout=HANGS_AFTER_S
    )
    assert b"H100" in done.stdout


def test_a_saved_capture_of_a_paste_says_the_same(tmp_path):
    (tmp_path / "smi.txt").write_text(texts.TOPO_M)
    saved = str(tmp_path / "paste.tar.gz")
    first = in_process("topo", "show", "--from", str(tmp_path / "smi.txt"), "--save-capture", saved)
    again = in_process("topo", "show", "--from", saved)
    assert again.stdout == first.stdout
    assert again.stderr in first.stderr


@pytest.mark.parametrize("other", ["live", "@dgx-h100"])
def test_only_outputs_can_be_given_together(tmp_path, other):
    (tmp_path / "smi.txt").write_text(texts.TOPO_M)
    result = in_process("check", "--from", str(tmp_path / "smi.txt"), "--from", other)
    assert result.returncode in (2, 5)


def test_a_machine_by_itself_beside_a_paste_is_named(tmp_path):
    (tmp_path / "smi.txt").write_text(texts.TOPO_M)
    (tmp_path / "topo.xml").write_text('<system version="1"><cpu numaid="0"/></system>')
    result = in_process("check", "--from", str(tmp_path / "smi.txt"), "--from", str(tmp_path / "topo.xml"))
    assert result.returncode == 5
    assert "topo.xml: is a machine by itself" in result.stderr
