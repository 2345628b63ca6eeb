# SPDX-License-Identifier: Apache-2.0
"""`run --compare OLD`: exit status 1 when a row is slower than it may be, whoever starts the ranks."""

import json
import sys

import pytest
from tests.cli.command import clean_environment, document, railgauge, run
from tests.collectives.results import result, row
from tests.topo.jobs.judge.made import as_nccl_tests

from railgauge.topo.nccl.settings.algorithm import Collective

SMALL = ("--ranks", "2", "-b", "8", "-e", "64", "-f", "8", "-n", "2")


@pytest.fixture
def old(tmp_path):
    """Writes an older result whose rows took that long: nothing here is as quick as 1 ps, or as slow as 100 s."""

    def write(us, *sizes, **more):
        path = tmp_path / "old.json"
        path.write_text(json.dumps(result(*(row(size, us, us) for size in sizes or (8, 64)), **more).to_json()))
        return str(path)

    return write


SLOW, QUICK = 1e8, 1e-6


def test_as_fast_as_before_is_status_0(old):
    done = run(*SMALL, "--compare", old(SLOW))
    assert done.returncode == 0, done.stderr
    assert "Avg bus bandwidth" in done.stdout
    assert "# Below speed 0.9      : 0 of 4 OK" in done.stdout
    assert all(line.startswith("#") for line in done.stdout[done.stdout.index("# Compared") :].splitlines())


def test_slower_is_status_1_and_says_what(old):
    path = old(QUICK)
    done = run(*SMALL, "--compare", path, "--tolerance", "50")
    assert done.returncode == 1
    assert "# Below speed 0.5      : 4 of 4 FAILED" in done.stdout
    assert sum(line.endswith("slower") for line in done.stdout.splitlines()) == 2
    assert f"4 of 4 measurements are slower than in {path} by more than 50 %; worst: " in done.stderr


@pytest.mark.parametrize(("share", "status"), [(50.0, 1), (1e-6, 0)])
def test_a_table_of_nccl_tests_is_an_older_result(tmp_path, share, status):
    path = tmp_path / "all_reduce.txt"
    path.write_text(as_nccl_tests({8: 0.01 * share, 64: 0.1 * share}, Collective.ALL_REDUCE, 8, "NVIDIA H200"))
    done = run(*SMALL, "--compare", str(path))
    assert done.returncode == status, done.stderr
    assert f"# Compared with {path}: gpu01; speed 2 is twice as fast" in done.stdout
    assert "# ranks: 8 then, 2 now" in done.stdout
    other = railgauge("run", "all_gather", *SMALL, "--compare", str(path))
    assert (other.returncode, "tables of all_reduce, not of all_gather" in other.stderr) == (2, True)


def test_the_document_is_a_diff(old, tmp_path):
    new = tmp_path / "new.json"
    found = document(*SMALL, "--compare", old(QUICK, 8, 4096, ranks=3), "-J", str(new), status=1)
    assert (found["schema"], found["tolerance"]) == ("railgauge/diff/1", 0.1)
    assert [(one["bytes"], one["way"], one["worse"]) for one in found["rows"]] == [
        (8, "out_of_place", True),
        (8, "in_place", True),
    ]
    assert [(change["subject"], change["what"]) for change in found["changes"]] == [
        ("run", "ranks"),
        ("4 KiB float sum", "row"),
        ("64 B float sum", "row"),
        ("8 B float sum out of place", "time_us"),
        ("8 B float sum in place", "time_us"),
    ]
    assert json.loads(new.read_text())["schema"] == "railgauge/run/1"


def test_the_document_is_as_its_schema_says(old):
    from tests.cli.test_schemas import check

    check("diff", document(*SMALL, "--compare", old(QUICK), status=1))


def test_nothing_to_compare_is_no_success(old):
    done = run(*SMALL, "--compare", old(SLOW, 1024))
    assert done.returncode == 4
    assert "nothing to compare" in done.stderr
    assert "# not measured now: 1 KiB float sum" in done.stdout
    assert "# not in " in done.stdout


def test_a_failure_of_the_run_is_worth_more(old):
    done = run(*SMALL, "--compare", old(QUICK), "--min-busbw", "1e6")
    assert done.returncode == 4
    assert "worst: " in done.stderr
    flip = ("--fault", "flip:rank=0,channel=0,message=0")
    failed = document(*SMALL, "--compare", old(QUICK), *flip, status=4)
    assert (failed["schema"], failed["status"]) == ("railgauge/run/1", "failed")


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("{}", 5, "not a result of a run"),
        ("# railgauge version", 5, "not JSON"),
        (json.dumps(result(row(8), collective="reduce").to_json()), 2, "a result of reduce, not of all_reduce"),
    ],
)
def test_what_cannot_be_compared_with_ends_the_run(tmp_path, text, status, words):
    path = tmp_path / "old"
    path.write_text(text)
    done = run(*SMALL, "--compare", str(path))
    assert (done.returncode, done.stdout) == (status, "")
    assert f"{path}" in done.stderr
    assert words in done.stderr
    assert words in document(*SMALL, "--compare", str(path), status=status)["error"]


def test_without_ranks_to_start_too(old):
    done = railgauge(
        "run", "broadcast", "-g", "2", *SMALL[2:], "--compare", old(QUICK, collective="broadcast", ranks=2)
    )
    assert done.returncode == 4  # broadcast has rows without an operator
    assert "not measured now: 8 B float sum" in done.stdout


def test_a_picture_shows_what_was_before(old, tmp_path):
    svg = tmp_path / "new.svg"
    assert run(*SMALL, "--compare", old(SLOW, 8, 64, 1 << 20), "-o", str(svg)).returncode == 0
    assert ">before</text>" in svg.read_text()


def test_the_status_passes_through_a_launcher(old, tmp_path):
    """A stand-in for mpirun that runs its last words here, as one rank."""
    stand_in = tmp_path / "mpirun"
    stand_in.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo "mpirun (Open MPI) 5.0.0"; exit; fi\n'
        f'while [ "$1" != run ]; do shift; done\nexec {sys.executable} -m railgauge "$@"\n'
    )
    stand_in.chmod(0o755)
    path = f"{tmp_path}:{clean_environment()['PATH']}"
    done = run("-b", "8", "-e", "8", "-n", "1", "--launcher", "mpirun", "--compare", old(QUICK, 8, ranks=1), PATH=path)
    assert done.returncode == 1, done.stderr
    assert "worst: " in done.stderr
