# SPDX-License-Identifier: Apache-2.0
"""An error of railgauge itself ends every command with 70, on whichever rank it happens, and names the place."""

import errno
import json

import pytest
from tests.cli.command import railgauge

from railgauge.topo.errors import InputError, described, status_of

BROKEN = """\
import os
from {module} import {owner}

def broken(*_, **__):
    raise {error}

if os.environ.get("RANK", "{rank}") == "{rank}":
    {owner}.{name} = broken
"""
PLACES = {
    "run": ("railgauge.collectives.measure", "Meter", "row"),
    "link": ("railgauge.collectives.link.pair_meter", "PairMeter", "measure"),
    "hub": ("railgauge.transports.hub", "Hub", "_gather"),
    "hub's start": ("railgauge.transports.hub", "Hub", "start"),
    "bootstrap": ("railgauge.transports.bootstrap", "Bootstrap", "_look_after_hub"),
}


def broken(folder, command, error, *args, rank=0):
    """The command with an error in its midst, in one of its two ranks."""
    module, owner, name = PLACES[command]
    text = BROKEN.format(module=module, owner=owner, name=name, error=error, rank=rank)
    (folder / "sitecustomize.py").write_text(text)
    what = ["link", "-b", "64K"] if command == "link" else ["run", "all_reduce", "-b", "8", "-e", "8"]
    return railgauge(*what, "--device", "cpu", "--ranks", "2", *args, PYTHONPATH=str(folder))


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("command", ["run", "link"])
def test_a_rank_that_fails_by_itself_ends_the_command_with_70(tmp_path, command, rank):
    result = broken(tmp_path, command, "KeyError('colour')", "--json", rank=rank)
    assert result.returncode == 70, result.stderr
    assert "unexpected KeyError: 'colour' (" in result.stderr
    document = json.loads(result.stdout)
    assert "unexpected KeyError: 'colour' (" in (document["error"] or "")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        ("RecursionError('too deep')", 70, "unexpected RecursionError: too deep"),
        ("SystemExit(0)", 70, "unexpected SystemExit: 0"),
        ("OSError('no number')", 70, "unexpected OSError: no number"),
        ("OSError(5, 'io')", 3, "io: Input/output error (work/sitecustomize.py:5)"),
        ("OSError(5, 'Input/output error')", 3, "railgauge run: Input/output error (work/sitecustomize.py:5)"),
        ("MemoryError()", 3, "out of memory"),
        ("PermissionError(13, 'Permission denied', '/there')", 3, "/there: Permission denied"),
    ],
)
def test_each_kind_of_error_has_its_status(tmp_path, error, status, words):
    folder = tmp_path / "work"
    folder.mkdir()
    result = broken(folder, "run", error)
    assert result.returncode == status
    assert words in result.stderr


def test_one_rule_gives_the_status_of_every_error():
    assert status_of(None) == 0
    assert status_of(InputError("")) == 5
    assert status_of(KeyboardInterrupt()) == 130
    assert status_of(BrokenPipeError(errno.EPIPE, "")) == 141
    assert {status_of(one) for one in (KeyError(), AssertionError(), SystemExit(), OSError(errno.EINVAL, ""))} == {70}
    assert status_of(OSError(errno.EMFILE, "")) == 3


def test_an_error_without_a_place_is_described_all_the_same():
    assert described(KeyError("x")) == "unexpected KeyError: 'x'"
    assert described(MemoryError()) == "out of memory"


def test_an_error_of_the_judge_leaves_what_was_measured(tmp_path):
    module = "railgauge.collectives.link.judgement"
    text = f"import {module} as judgement\n\ndef judge(*_):\n    raise KeyError('colour')\n\njudgement.judge = judge\n"
    (tmp_path / "sitecustomize.py").write_text(text)
    result = railgauge("link", "-b", "64K", "--device", "cpu", "--ranks", "3", "--json", PYTHONPATH=str(tmp_path))
    document = json.loads(result.stdout)
    assert (result.returncode, document["status"]) == (70, "failed"), result.stderr
    assert {(one["from"], one["to"]) for one in document["links"]} >= {(0, 1), (1, 2), (2, 0)}
    assert [one["level"] for one in document["findings"]] == ["UNKNOWN"]
    assert "unexpected KeyError: 'colour'" in document["error"]
    assert "unexpected KeyError: 'colour'" in result.stderr
