# SPDX-License-Identifier: Apache-2.0
"""railgauge tune nccl: the table and its document, on times that are made up; what a run makes of its settings is in
tests/gpu/test_nccl_engine.py.
"""

import json
import random
import subprocess
from pathlib import Path

import pytest
from tests.cli.command import in_process
from tests.cli.test_schemas import check
from tests.collectives.results import result, row, timing

from railgauge.cli.tune.nccl import NcclRuns, TunedCollective
from railgauge.collectives.nccl_sweep import ENOUGH, OF_ALGORITHM, NcclTime, NcclWay
from railgauge.topo.errors import RunError, UnavailableError, VerificationError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

SMALL, LARGE = 1 << 10, 1 << 30
TREE_LL = NcclWay(Algorithm.TREE, Protocol.LL)


@pytest.fixture
def machine(monkeypatch):
    """Trees with LL save 40 % of the time of 1 KiB and cost 50 % of that of 1 GiB; there is no NVLS."""
    noise = random.Random(1)
    ran = []

    def measure(self, way, logged):
        ran.append((way, logged))
        self.last, self.version, self.gpus = result(), "2.28.9", ["GPU of a test"]
        if way.algorithm in (Algorithm.NVLS, Algorithm.NVLS_TREE):
            raise RunError("NCCL: no such algorithm here")
        shares = {SMALL: 0.6, LARGE: 1.5} if way == TREE_LL else {}
        chosen = (way.algorithm or "ring", way.protocol or "simple", way.channels or 8)
        return {
            size: NcclTime(100 * shares.get(size, 1.0) * noise.uniform(1, 1.02), 1.0, *chosen)
            for size in (SMALL, LARGE)
        }

    monkeypatch.setattr(NcclRuns, "measure", measure)
    return ran


def test_the_table_names_what_is_faster_and_what_it_costs(machine):
    done = in_process("tune", "nccl", "all_reduce", "--", "-g", "2")
    assert done.returncode == 0, done.stderr
    head, names, small, large, *rest = done.stdout.splitlines()
    assert head == "all_reduce, 2 ranks, 1 node, NCCL 2.28.9: 20 settings beside NCCL's choice, 5 turns"
    assert names.split() == ["size", "NCCL's", "choice", "us", "best", "us", "saves", "with"]
    assert small.split()[:6] == ["1", "KiB", "ring", "simple", "8", small.split()[5]]
    assert small.endswith("NCCL_ALGO=tree NCCL_PROTO=ll")
    assert large.split()[-3:] == ["-", "-", "-"]
    assert rest[0] == "A variable holds for all sizes of a job:"
    assert rest[1].startswith("  NCCL_ALGO=tree NCCL_PROTO=ll: saves up to 4")
    assert rest[1].endswith("costs up to 50%, at 1 GiB") or rest[1].endswith("costs up to 49%, at 1 GiB")
    assert rest[2] == "left out: NCCL_ALGO=nvls NCCL_PROTO=simple and 5 more: NCCL: no such algorithm here"
    assert "railgauge tune: turn 1: " in done.stderr


def test_the_document_has_every_time(machine, tmp_path):
    path = tmp_path / "gains.json"
    done = in_process("tune", "nccl", "all_reduce", "--json", "-o", str(path))
    found = json.loads(done.stdout)
    check("nccl-tuning", found)
    assert json.loads(path.read_text())["rows"] == found["rows"]
    assert (found["collective"], found["ranks"], found["nodes"], found["nccl"]) == ("all_reduce", 2, 1, "2.28.9")
    assert found["gpus"] == ["GPU of a test"]
    tree_ll = {"algorithm": "tree", "protocol": "ll", "channels": 8, "sets_channels": False}
    assert [row["faster"] for row in found["rows"]] == [[tree_ll], []]
    refused = [one for one in found["settings"] if one["why_not"]]
    assert {one["environment"]["NCCL_ALGO"] for one in refused} == {"nvls", "nvlstree"}
    small = {json.dumps(one["environment"]): one for one in found["rows"][0]["measured"]}
    tree = small[json.dumps(TREE_LL.environment)]
    assert (tree["verdict"], len(tree["times_us"]), tree["saves"]) == ("gain", 5, pytest.approx(0.4, abs=0.02))
    assert {one["verdict"] for one in small.values()} == {"gain", "none"}
    assert len(found["rows"][0]["times_us"]) == found["turns"] == 5


def test_where_nothing_is_faster_it_says_so(machine):
    done = in_process("tune", "nccl", "broadcast", "--turns", "5")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "no setting saves 5% of the time beyond the noise"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("alltoall",), "'alltoall' is not one of 'all_reduce'"),
        (("all_reduce", "--", "--engine=railgauge"), "--engine=railgauge: the sweep reads the results itself"),
        (("all_reduce", "--", "-J", "a.json"), "-J: the sweep reads"),
        (("all_reduce", "--turns", str(ENOUGH - 1)), "--turns"),
    ],
)
def test_what_is_refused(machine, arguments, says):
    done = in_process("tune", "nccl", *arguments)
    assert (done.returncode, done.stdout, machine) == (2, "", [])
    assert says in done.stderr


def test_the_collectives_on_offer_are_those_of_the_sweep():
    assert list(map(Collective, TunedCollective)) == list(OF_ALGORITHM)


def test_settings_that_the_sweep_makes_itself_are_refused(machine):
    done = in_process("tune", "nccl", "all_reduce", NCCL_ALGO="Ring", NCCL_MAX_NCHANNELS="4")
    assert (done.returncode, machine) == (2, [])
    assert "NCCL_ALGO, NCCL_MAX_NCHANNELS is set" in done.stderr


def test_nccls_own_choice_that_fails_ends_it_with_the_status_of_the_run(monkeypatch):
    def measure(self, way, logged):
        raise UnavailableError("no NCCL: install it")

    monkeypatch.setattr(NcclRuns, "measure", measure)
    done = in_process("tune", "nccl", "all_reduce")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no NCCL: install it" in done.stderr


@pytest.mark.parametrize(("wrong", "error"), [(3, VerificationError), (0, RunError)])
def test_a_run_with_wrong_data_is_told_apart_from_one_that_fails(monkeypatch, wrong, error):
    def run(self, more, settings, stderr):
        made = result(row(SMALL, out_of_place=timing(SMALL, 10.0, wrong=wrong)), error="failed")
        Path(more[more.index("-J") + 1]).write_text(json.dumps(made.to_json()))
        return subprocess.CompletedProcess([], 4)

    monkeypatch.setattr(NcclRuns, "_run", run)
    with pytest.raises(RunError) as raised:
        NcclRuns(["run"]).measure(TREE_LL, True)
    assert type(raised.value) is error
    assert (TREE_LL.words in str(raised.value)) is (wrong > 0)


def test_a_folder_that_is_not_there_is_told_before_anything_runs(machine, tmp_path):
    done = in_process("tune", "nccl", "all_reduce", "-o", str(tmp_path / "none" / "gains.json"))
    assert (done.returncode, machine) == (3, [])
