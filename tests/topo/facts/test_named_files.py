# SPDX-License-Identifier: Apache-2.0
"""Names on a command line are files, all files of a folder, or patterns."""

import os

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.facts.named_files import has_wildcard, named_files


@pytest.fixture
def job(tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("n10.log", "n2.log", "deep/x", ".hidden", "[a].txt"):
        (tmp_path / name).write_text("")
    return tmp_path


def names(job, *given):
    found = named_files([str(job / one) if one else str(job) for one in given])
    return [name.removeprefix(f"{job}/") for name in found]


def test_a_folder_is_its_files_in_natural_order(job):
    assert names(job, "") == ["[a].txt", "n2.log", "n10.log", "deep/x"]


def test_a_pipe_in_a_folder_is_left_out_and_a_link_to_nothing_is_not(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "log").touch()
    (tmp_path / "old").symlink_to("gone")
    assert named_files([str(tmp_path)]) == [f"{tmp_path}/log", f"{tmp_path}/old"]


def test_a_pattern_is_the_files_that_match(job):
    assert names(job, "n*.log", "deep/*") == ["n2.log", "n10.log", "deep/x"]
    assert names(job, "d*") == ["deep/x"]


def test_a_file_with_a_bracket_in_its_name_is_no_pattern(job):
    assert not has_wildcard(str(job / "[a].txt"))
    assert names(job, "[a].txt") == ["[a].txt"]


def test_files_that_do_not_exist_and_stdin_stay(job):
    assert named_files(["-", "/no/such"]) == ["-", "/no/such"]


@pytest.mark.parametrize(("name", "words"), [("*.none", "matches no file"), ("empty", "a folder without files")])
def test_nothing_is_bad_input(job, name, words):
    (job / "empty").mkdir()
    with pytest.raises(InputError, match=words):
        names(job, name)
