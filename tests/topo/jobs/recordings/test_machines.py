# SPDX-License-Identifier: Apache-2.0
"""Each host of a job is judged on its own machine, by the captures of a cluster."""

import json
import shutil

import pytest
from tests.cli.command import in_process
from tests.cli.test_schemas import check
from tests.topo.jobs.recordings.test_report import sends
from tests.topo.jobs.recordings.writer import MS, job, write

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts.capture import dumps
from railgauge.topo.findings.cluster.folder import is_cluster
from railgauge.topo.jobs.recordings.forecasts import JobForecasts
from railgauge.topo.jobs.recordings.job import read_job
from railgauge.topo.jobs.recordings.machines import JobMachines
from railgauge.topo.machine import load_machine
from railgauge.topo.xml import topology_file

WHOLE, DEGRADED = "dgx-h100", "dgx-h100-nic-x8"
SLOW_NIC = "pcie-link-degraded 0000:18:00.0"


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """By fixture its capture, made once."""
    folder = tmp_path_factory.mktemp("captures")
    found = {name: folder / f"{name}.tar.gz" for name in (WHOLE, DEGRADED)}
    for name, path in found.items():
        path.write_bytes(dumps(load(name), ".tar.gz"))
    return found


@pytest.fixture
def cluster(tmp_path, captures):
    """`cluster(n0=WHOLE, ...)`: a folder as `cluster dump -o` writes it."""

    def made(**nodes):
        folder = tmp_path / "cluster"
        folder.mkdir()
        for name, fixture in nodes.items():
            shutil.copy(captures[fixture], folder / f"{name}.tar.gz")
        return folder

    return made


def recorded(tmp_path, files):
    """The folder of a job's recordings."""
    folder = tmp_path / "rec"
    folder.mkdir()
    write(files, folder)
    return folder


@pytest.mark.parametrize(("slow", "where"), [(2, "n2"), (1, "n2")], ids=["its own NIC", "its peer's NIC"])
def test_slow_sends_are_judged_by_the_nodes_of_both_ends(tmp_path, cluster, slow, where):
    folder = cluster(n0=WHOLE, n1=WHOLE, n2=DEGRADED, n3=WHOLE)
    files = sends(slow)
    done = in_process("nccl", "report", str(recorded(tmp_path, files)), "--from", str(folder), "--json")
    (finding,) = [one for one in json.loads(done.stdout)["findings"] if one["id"] == "nic-slow"]
    assert f"rank {slow} on n{slow} to rank {slow + 1} on n{slow + 1} on channel 1" in finding["message"]
    assert f"railgauge check on {where}: " in finding["message"]
    assert finding["message"].count("railgauge check on") == 1


def spread(took_ms=2):
    """A job on two hosts with 8 ranks each, whose long names the cluster does not have."""
    by_place = [{"host": f"n{place}.site.example", "boot_id": f"b{place}"} for place in (0, 1)]
    return job(size=16, operations=10, channels=16, count=64 << 20, took_ns=int(took_ms * MS),
               every_host=lambda rank: by_place[rank // 8])  # fmt: skip


def told(tmp_path, folder, took_ms=2):
    done = in_process("nccl", "report", str(recorded(tmp_path, spread(took_ms))), "--from", str(folder), "--json")
    document = json.loads(done.stdout)
    check("nccl-report", document)
    (row,) = document["communicators"][0]["operations"]
    return document, row["forecast"]


def test_of_hosts_that_differ_the_slowest_is_forecast_and_the_fastest_counts(tmp_path, cluster):
    document, forecast = told(tmp_path, cluster(n0=WHOLE, n1=DEGRADED))
    assert forecast["host"] == "n1.site.example"
    shown = in_process("nccl", "report", str(tmp_path / "rec"), "--from", str(tmp_path / "cluster")).stdout
    assert "the hosts differ: forecast as if all were like the slowest, n1.site.example" in shown
    (finding,) = [one for one in document["findings"] if one["level"] == "WARN"]
    assert finding["id"] == "operation-slow"
    assert f"63% of 400 GB/s like the fastest; railgauge check on n1.site.example: {SLOW_NIC}" in finding["message"]


def test_equal_hosts_are_forecast_as_one_machine_is(tmp_path, cluster):
    document, forecast = told(tmp_path, cluster(n0=WHOLE, n1=WHOLE), took_ms=1.3)
    assert (forecast["host"], forecast["busbw_gb_per_s"]) == (None, pytest.approx(400, abs=1))
    assert not [one for one in document["findings"] if one["level"] != "INFO"]


@pytest.mark.parametrize("damaged", [False, True])
def test_a_host_without_a_capture_is_unknown(tmp_path, cluster, damaged):
    folder = cluster(n0=WHOLE, n3=WHOLE)
    if damaged:
        (folder / "n1.tar.gz").write_bytes(b"\x1f\x8b none")
    document, forecast = told(tmp_path, folder)
    (finding,) = document["findings"]
    assert (finding["id"], finding["level"]) == ("operation-slow", "UNKNOWN")
    assert (finding["subject"], forecast) == ("n1.site.example", None)
    assert ("n1.tar.gz" if damaged else "which has n[0,3]") in finding["message"]
    assert document["why_no_forecast"].startswith("n1.site.example: ")


def test_ranks_are_placed_by_the_bus_ids_of_their_gpus(tmp_path):
    machine = load_machine(f"@{WHOLE}")
    ids = [gpu.bus_id for gpu in machine.system.gpus]

    def nics(folder, bus_id):
        files = sends(None)
        for file in files:
            file.bus_id = bus_id
        folder.mkdir()
        (communicator,) = read_job(write(files, folder)).communicators
        return JobForecasts(JobMachines(machine)).nics(communicator, 0, "n0")

    first, other = nics(tmp_path / "0", ids[0]), nics(tmp_path / "6", ids[6])
    assert first != other
    assert nics(tmp_path / "?", "0000:ee:00.0") == first


def test_what_is_a_cluster(tmp_path, cluster):
    folder = cluster(n0=WHOLE)
    assert is_cluster(str(folder))
    (folder / "notes.txt").write_text("")
    assert is_cluster(str(folder))
    files = tmp_path / "files"
    files.mkdir()
    assert not is_cluster(str(files))
    (files / "n0.xml").write_text(topology_file.dumps(load_machine(f"@{WHOLE}").topology))
    assert is_cluster(str(files))
    (files / "lstopo.xml").write_text('<?xml version="1.0"?><topology version="2.0"></topology>')
    assert not is_cluster(str(files))
    assert not is_cluster(str(folder / "n0.tar.gz"))


def test_a_name_is_matched_whole_before_its_first_label():
    machines = JobMachines(files=[("n1", "/one"), ("n1.b", "/other"), ("10.0.0.1", "/address")])
    told = [machines.unknown([host])[0][1] for host in ("n1", "n1.b", "n1.c", "10.0.0.2", "n2.x")]
    assert [word in text for word, text in zip(("/one", "/other", "/one", "no file", "no file"), told, strict=True)]
    both = JobMachines(files=[("n1.a", "/one"), ("n1.b", "/other")])
    assert "no file" in both.unknown(["n1"])[0][1]


def test_a_cluster_cannot_be_saved_as_one_capture(tmp_path, cluster):
    rec = recorded(tmp_path, job())
    done = in_process("nccl", "report", str(rec), "--from", str(cluster(n0=WHOLE)), "--save-capture", "x.tar.gz")
    assert (done.returncode, "has several" in done.stderr) == (2, True)


def test_log_explain_takes_a_cluster_too(tmp_path, cluster):
    done = in_process("log", "explain", str(recorded(tmp_path, sends(2))), "--from", str(cluster(n2=DEGRADED)))
    assert f"railgauge check on n2: {SLOW_NIC}" in done.stdout
    assert "UNKNOWN operation-slow: n[0-1,3]: no file of it in the folder" in done.stdout
