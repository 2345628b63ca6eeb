# SPDX-License-Identifier: Apache-2.0
"""railgauge link as a user runs it: exit status, matrices and documents; several hosts are in test_link_hosts.py."""

import contextlib
import csv
import json
import os
import re
import signal
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.command import in_process, railgauge, started
from tests.cli.run.test_failures import alive
from tests.cli.run.test_run import free_port
from tests.cli.test_schemas import check
from tests.collectives.link.synthetic import JOB
from tests.hosts.rank_processes import rank_of
from tests.hosts.waiting import cpu_s
from tests.patience import HANGS_AFTER_S

from railgauge.cli.link.gpus import measure
from railgauge.cli.link.start import LinkAnswer
from railgauge.collectives.device import Device
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.findings.finding import Level

SMALL = ("-b", "64K", "-n", "2", "--timeout", "60")


def link(*args, status=0, **env):
    done = railgauge("link", *args, **{"NCCL_SOCKET_IFNAME": "lo"} | env)
    slow = (
        status == 0 and done.returncode == 1 and "railgauge link:" not in done.stderr
    )  # which a busy machine can make of it
    assert done.returncode == status or slow, done.stderr
    return done


def refused(*args, status, **env):
    """The same for measurements that are to end before they begin."""
    done = in_process("link", *args, **env)
    assert done.returncode == status, done.stderr
    return done


def document(*args, status=0, **env):
    return json.loads(link(*args, "--json", status=status, **env).stdout)


def test_a_matrix_for_each_transport_and_quantity():
    out = link("--ranks", "3", *SMALL).stdout
    for title in ("SHM: GB/s", "SHM: us", "NET/Socket: GB/s", "NET/Socket: us"):
        matrix = out[out.index(title) :].splitlines()[:5]
        assert matrix[1].split() == ["0", "1", "2"]
        cells = [line.split()[2:] for line in matrix[2:]]
        assert [cells[rank][rank] for rank in range(3)] == ["-"] * 3
        assert all(float(cell) > 0 for row, line in enumerate(cells) for at, cell in enumerate(line) if row != at)
    assert "of the predicted" in out
    assert re.search(
        r"slow-link: rank \d - rank \d: SHM: bandwidth: .* the predicted|PASS .*slow-link|UNKNOWN slow-link", out
    )


def test_unknown_counts_where_it_is_asked_for():
    many = str(2 * len(os.sched_getaffinity(0)) + 2)
    link("--ranks", many, *SMALL, "--transport", "SHM")
    link("--ranks", many, *SMALL, "--transport", "SHM", "--fail-on", "UNKNOWN", status=1)


def test_the_document_has_both_directions_of_every_pair():
    got = document("--ranks", "2", *SMALL, "-b", "1M", "--expect-gbps", "0")
    assert (got["status"], got["error"], got["bytes"], got["bisection"]) == ("ok", None, 1 << 20, None)
    assert [(one["transport"], one["from"], one["to"]) for one in got["links"]] == [
        *(("SHM", 0, 1), ("SHM", 1, 0)),
        *(("NET/Socket", 0, 1), ("NET/Socket", 1, 0)),
    ]
    for one in got["links"]:
        assert one["bytes_sent"] == one["bytes_received"] == one["bytes_planned"]
        assert one["ratio"] == pytest.approx(one["gb_per_s"] / one["predicted_gb_per_s"])
    assert [finding["id"] for finding in got["findings"]] == ["slow-link", "link-latency"] * 2
    assert all(" the predicted " in finding["message"] for finding in got["findings"])


def against(tmp_path, times):
    """The findings beside an older result that had so many times the bandwidth, and the exit status."""
    path = tmp_path / "old.json"
    link("--ranks", "2", *SMALL, "--transport", "SHM", "-o", str(path))
    old = json.loads(path.read_text())
    for one in old["links"]:
        one["gb_per_s"] *= times
        one["latency_us"] *= 100
    path.write_text(json.dumps(old))
    done = railgauge("link", "--ranks", "2", *SMALL, "--transport", "SHM", "--against", str(path), "--json")
    return {one["id"]: one for one in json.loads(done.stdout)["findings"]}, done.returncode


@pytest.mark.parametrize(("times", "level"), [(1e-3, "PASS"), (1e3, "FAIL")])
def test_an_older_result_is_the_judge_of_a_pair(tmp_path, times, level):
    found, status = against(tmp_path, times)
    assert {name: one["level"] for name, one in found.items()} == {"slow-link": level, "link-latency": "PASS"}
    assert "old.json" in found["slow-link"]["message"]
    assert status == (level == "FAIL")


def test_what_is_no_older_result_is_refused_before_anything_runs(tmp_path):
    path = tmp_path / "old.json"
    assert f"{path}: cannot read" in refused("--ranks", "2", "--against", str(path), status=5).stderr
    path.write_text('{"schema": "railgauge/run/1"}')
    assert "not a measurement of links" in refused("--ranks", "2", "--against", str(path), status=5).stderr
    old = {"schema": "railgauge/link/1", "device": "cpu", "bytes": 8, "ranks": [{"rank": 0, "host": "a"}], "links": []}
    path.write_text(json.dumps(old))
    assert "measured with -b 8, not 65536" in refused("--ranks", "2", *SMALL, "--against", str(path), status=2).stderr
    link_of = {"from": 0, "to": 0, "transport": "SHM", "rail": 0, "by": None, "latency_us": 1.0, "gb_per_s": 1e300}
    path.write_text(json.dumps(old | {"links": [link_of]}))
    assert "1e+300 is no bandwidth" in refused("--ranks", "2", *SMALL, "--against", str(path), status=5).stderr
    path.write_text('{"schema": "railgauge/link/1", "ranks": [{}]}')
    assert "not a measurement of links" in refused("--ranks", "2", "--against", str(path), status=5).stderr


def test_files_by_their_suffix(tmp_path):
    files = [str(tmp_path / name) for name in ("links.json", "links.csv")]
    asked = ("--transport", "SHM")
    out = link("0", "1", "--ranks", "2", *SMALL, "-o", files[0], "-o", files[1], *asked).stdout
    assert "SHM on one" in out
    got = json.loads((tmp_path / "links.json").read_text())
    with open(files[1], newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["from_host"], row["to"]) for row in rows] == [(socket.gethostname(), "1"), (socket.gethostname(), "0")]
    assert [float(row["gb_per_s"]) for row in rows] == [one["gb_per_s"] for one in got["links"]]


def test_a_damaged_byte_is_status_4_with_its_place():
    got = document("--ranks", "2", *SMALL, "--fault", "flip:rank=1,channel=0", status=4)
    assert got["status"] == "failed"
    assert re.search(r"rank 0: 1 bytes from rank 1 over SHM are wrong: .* index 7: expected", got["error"])
    assert [one["wrong"] for one in got["links"]] == [0, 1, 0, 0]


def test_a_link_below_what_was_asked_for_is_status_4():
    done = link("--ranks", "2", *SMALL, "--transport", "SHM", "--min-gbps", "1e6", status=4)
    assert re.search(r"SHM from rank \d to rank \d reaches [\d.]+ Gb/s, below the required 1e\+06 Gb/s", done.stderr)


def test_halves_of_ranks():
    done = railgauge("link", "--ranks", "4", *SMALL, "--bisect", "--json")
    got = json.loads(done.stdout)
    check("link", got)
    assert [half["ranks"] for half in got["bisection"]["steps"][0]] == [[0, 1], [2, 3]]
    assert got["links"] == []
    assert done.returncode == (got["findings"][0]["level"] in ("WARN", "FAIL"))  # which a busy machine can make of it


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "at least two ranks"),
        (("0", "--ranks", "2"), "link 0 OTHER"),
        (("0", "0", "--ranks", "2"), "link 0 OTHER"),
        (("--ranks", "2", "--transport", "NET/XY"), "transports are SHM, NET/Socket"),
        (("--ranks", "2", "-b", "0"), "from 1 byte"),
        (("--ranks", "2", "-o", "x.svg"), "use a name that ends in .json or .csv"),
        (("--ranks", "2", "--min-gbps", "nan"), "--min-gbps"),
        (("--ranks", "4", "--bisect", "--one-at-a-time"), "leave --one-at-a-time out"),
    ],
)
def test_flags_that_make_no_sense_are_refused(args, words):
    done = (link if "--transport" in args else refused)(*args, status=2)  # a rank knows which transports there are
    assert words in done.stderr
    assert done.stdout == ""


def test_a_file_that_cannot_be_written_is_told_before():
    assert "no folder /nowhere" in refused("--ranks", "2", *SMALL, "-o", "/nowhere/x.json", status=3).stderr


@pytest.mark.parametrize(("rank", "status"), [("0", 3), ("1", 4)])
def test_of_ranks_that_another_launcher_starts_the_first_alone_looks_for_the_folder(rank, status):
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "RANK": rank}
    alone = link(*SMALL, "--timeout", "1", "-o", "/nowhere/x.json", status=status, **job)
    assert ("no folder /nowhere" in alone.stderr) == (status == 3)


def test_gpus_that_there_are_not_are_an_error_of_the_measurement(capsys):
    answer = LinkAnswer(json=False, files=(), min_gb_per_s=None, against=None, fail_on=Level.WARN)
    status = measure(replace(JOB, device=Device.CUDA, pair=(98, 99)), answer)
    assert status in (UsageError.exit_status, UnavailableError.exit_status)  # with two GPUs or more, and without
    assert capsys.readouterr().err.startswith("railgauge link: ")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_is_named_and_nothing_is_left(victim):
    with long_measurement() as (launcher, ranks):
        os.kill(ranks[victim], signal.SIGKILL)
        out, err = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 4
        assert f"rank {victim}" in err
        assert not any(alive(pid) for pid in ranks)
        assert json.loads(out)["status"] == "failed"


def test_interrupted_is_130():
    with long_measurement() as (launcher, ranks):
        os.killpg(launcher.pid, signal.SIGINT)
        _, err = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 130
        assert "Traceback" not in err
        assert not any(alive(pid) for pid in ranks)


@contextlib.contextmanager
def long_measurement():
    """Three ranks that would measure for minutes, and their processes; all of them move bytes."""
    endless = ("link", "--ranks", "3", "-b", "8M", "-n", "100000", "--timeout", "60", "--json")
    with started(*endless, NCCL_SOCKET_IFNAME="lo") as launcher:
        deadline = time.monotonic() + HANGS_AFTER_S
        while time.monotonic() < deadline and launcher.poll() is None:
            found = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
            ranks = sorted(map(int, found), key=rank_of)
            if len(ranks) == 3 and sum(cpu_s(pid) > 0.8 for pid in ranks) >= 2:  # the third sits out the first round
                break
            time.sleep(0.05)
        else:
            launcher.kill()
            pytest.fail(f"the ranks did not begin: {launcher.communicate()}")
        yield launcher, ranks
