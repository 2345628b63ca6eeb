# SPDX-License-Identifier: Apache-2.0
"""`env` tells each setting's origin, what it comes to on a machine, and what it is worth."""

import json
from unittest import mock

import pytest
from tests.cli.command import in_process as railgauge

HOLES, MIXED = "@hgx-h100-gid-holes", "@dgx-h100"


def told(*settings, source=MIXED, **env):
    arguments = [part for setting in settings for part in ("--set", setting)]
    where = ("--from", source) if source else ()
    result = railgauge("env", *where, *arguments, "--json", **env)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_what_nccl_takes_with_and_without_the_settings():
    document = told("NCCL_IB_HCA==mlx5_3", "NCCL_SOCKET_IFNAME=enp41s0f1np1")
    assert [port["port"] for port in document["selects"]["ports"]] == ["mlx5_3:1"]
    assert document["selects"]["interfaces"] == ["enp41s0f1np1"]
    assert len(document["unset"]["ports"]) == 12
    assert document["unset"]["interfaces"][0] == "enp41s0f0np0"


def test_origins_of_this_machine(tmp_path):
    (tmp_path / "mine.conf").write_text("NCCL_DEBUG=INFO\nNCCL_CROSS_NIC=1\nNCCL_IB_TC =136\n")
    document = told(
        source=None, NCCL_CONF_FILE=str(tmp_path / "mine.conf"), NCCL_DEBUG="WARN", TORCH_NCCL_NAN_CHECK="1"
    )
    found = {one["name"]: (one["value"], one["origin"]) for one in document["settings"]}
    assert found["NCCL_DEBUG"] == ("WARN", "environment")
    assert found["NCCL_CROSS_NIC"] == ("1", str(tmp_path / "mine.conf"))
    assert found["TORCH_NCCL_NAN_CHECK"] == ("1", "environment")
    [blank] = [one for one in document["settings"] if one["name"] == "NCCL_IB_TC "]
    assert blank["verdict"] == "ignored"
    assert "NCCL_IB_TC" in blank["why"]


def test_text_names_the_finding_and_says_what_was_not_recorded():
    lines = railgauge("env", "--from", HOLES, "--set", "NCCL_IB_GID_INDEX=3").stdout.splitlines()[2:]
    assert lines[0] == "NCCL_IB_GID_INDEX=3 (--set): harmful [gid-index-invalid]"
    assert "Environment not recorded: only /etc/nccl.conf and --set are shown." in lines
    assert "RDMA port mlx5_1:1: GID 3 (10.0.1.1), NCCL_IB_GID_INDEX, used unchecked" in lines


@pytest.mark.parametrize("text", ["NCCL_IB_HCA", "=mlx5"])
def test_a_setting_of_another_form_is_refused(text):
    assert railgauge("env", "--from", "@laptop", "--set", text).returncode == 2


def test_a_topology_file_has_no_settings(tmp_path):
    file = tmp_path / "topo.xml"
    file.write_text('<system version="1"><cpu numaid="0" arch="x86_64" affinity="1"/></system>')
    result = railgauge("env", "--from", str(file))
    assert (result.returncode, result.stdout) == (3, "")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_setting_that_cannot_be_judged_costs_its_own_verdict_alone(form):
    broken = mock.patch(
        "railgauge.topo.findings.settings.judgement.is_default", side_effect=ZeroDivisionError("a trial")
    )
    with broken:
        asked = ("--set", "NCCL_BUFFSIZE=65536", "--set", "NCCL_IB_TIMEOUT=40")
        result = railgauge("env", "--from", MIXED, *asked, *form)
    assert result.returncode == 70
    assert "unexpected ZeroDivisionError: a trial" in result.stderr
    assert "NCCL_BUFFSIZE" in result.stderr
    if form:
        verdicts = {one["name"]: one["verdict"] for one in json.loads(result.stdout)["settings"]}
        assert verdicts == verdicts | {"NCCL_BUFFSIZE": "unknown", "NCCL_IB_TIMEOUT": "harmful"}
    else:
        assert "NCCL_IB_TIMEOUT=40" in result.stdout


def test_what_a_jobs_script_sets_is_judged(tmp_path):
    job = tmp_path / "job.sbatch"
    job.write_text("#!/bin/bash\nexport NCCL_PROTOS=Simple\nexport NCCL_IB_HCA=$(ibdev2netdev | cut -d' ' -f1)\n")
    done = railgauge("env", str(job), "--set", "NCCL_DEBUG=INFO", "--from", "@dgx-h100")
    assert done.returncode == 0
    assert f"NCCL_PROTOS=Simple ({job}:2): ignored" in done.stdout
    assert "NCCL_DEBUG=INFO (--set)" in done.stdout
    assert f"{job}: computes the values of NCCL_IB_HCA: not judged" in done.stderr
    job.write_text("echo hello\n")
    done = railgauge("env", str(job), "--from", "@dgx-h100")
    assert (done.returncode, done.stdout) == (5, "")
    assert "sets nothing" in done.stderr
