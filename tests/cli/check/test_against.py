# SPDX-License-Identifier: Apache-2.0
"""check --against: what counts for the exit status, the text, the documents, and what may stand for a baseline."""

import json

import pytest
from tests.cli.command import in_process as railgauge
from tests.topo.findings.node.cases import changed

from railgauge.topo.facts.capture import dumps


def against(now, then, *arguments):
    return railgauge("check", "--from", now, "--against", then, *arguments)


@pytest.mark.parametrize(
    ("now", "then", "status"), [("@dgx-h100-nic-x8", "@dgx-h100", 1), ("@dgx-h100-nic-x8", "@dgx-h100-nic-x8", 0)]
)
def test_only_what_got_worse_counts(now, then, status):
    assert against(now, then).returncode == status


def test_the_text_folds_what_is_as_before():
    done = against("@dgx-h100-port-down", "@dgx-h100-nic-x8")
    header, empty, *lines = done.stdout.splitlines()
    assert (header.split(":")[0], empty) == ("dgx-h100", "")
    assert lines[0] == "new since @dgx-h100-nic-x8:"
    assert lines[1].startswith("FAIL ib-port-down: mlx5_3:1: state DOWN")
    gone = lines.index("gone since @dgx-h100-nic-x8:")
    assert lines[gone + 1].startswith("FAIL pcie-link-degraded: 0000:18:00.0 runs with 8 lanes")
    assert lines[-2].startswith("unchanged, not counted: INFO mtu-mismatch; ")
    assert lines[-1].endswith("; worse: none; gone: 1 FAIL")


def test_what_is_gone_is_told_in_brief_and_what_is_new_with_its_remedy():
    lines = against("@dgx-h100-port-down", "@dgx-h100-nic-x8").stdout.splitlines()[2:]
    gone = lines.index("gone since @dgx-h100-nic-x8:")
    assert lines[2].startswith("    effect: ")
    assert lines[3].startswith("    remedy: ")
    assert lines[gone + 2].startswith("unchanged, not counted: ")
    assert not any(line.startswith(("    effect: ", "    remedy: ")) for line in lines[gone:])


def test_what_is_unchanged_is_named_or_counted_and_not_both():
    same = against("@dgx-h100-port-down", "@dgx-h100-port-down").stdout.splitlines()[-2]
    assert same.startswith("unchanged, not counted: FAIL ib-port-down; INFO ")
    _, _, counted = same.rpartition("; ")
    assert {word for word in counted.replace(",", "").split() if word.isupper()} == {"PASS", "UNKNOWN"}


def test_what_could_not_be_learnt_of_the_baseline_is_told_where_it_is_not_so_of_the_machine_too():
    said = "@dgx-h100-port-down: RDMA ports that NCCL does not use: mlx5_3:1"
    assert said in against("@dgx-h100", "@dgx-h100-port-down").stderr
    assert said not in against("@dgx-h100-port-down", "@dgx-h100-port-down").stderr


def test_the_document_says_since_when_and_what_is_gone():
    document = json.loads(against("@dgx-h100", "@dgx-h100-port-down", "--json").stdout)
    assert document["baseline"] == {"source": "@dgx-h100-port-down", "host": "dgx-h100"}
    assert [one["id"] for one in document["gone"]] == ["ib-port-down", "gpu-nic-far"]
    assert document["unseen"] == []
    assert {one["since"] for one in document["findings"] if one["level"] == "PASS"} == {"same", "better"}


def test_a_saved_document_is_a_baseline(tmp_path):
    path = str(tmp_path / "old.json")
    assert railgauge("check", "--from", "@dgx-h100-nic-x8", "-o", path).returncode == 1
    assert against("@dgx-h100-nic-x8", path).returncode == 0
    worse = against("@dgx-h100-port-down", path)
    assert worse.returncode == 1
    assert "UNKNOWN slower-than-before: the baseline has only findings" in worse.stdout


def test_a_topology_file_is_a_baseline_that_leaves_much_unknown(tmp_path):
    path = str(tmp_path / "topo.xml")
    assert railgauge("topo", "dump", "--from", "@dgx-h100", "-o", path).returncode == 0
    done = against("@dgx-h100-port-down", path, "--only", "ib-port-down")
    assert done.returncode == 0
    assert "not counted, because unknown in" in done.stdout
    assert against("@dgx-h100-port-down", path, "--only", "ib-port-down", "--fail-on", "UNKNOWN").returncode == 1


def test_the_report_says_what_is_new_and_what_is_gone(tmp_path):
    path = tmp_path / "report.html"
    assert against("@dgx-h100-port-down", "@dgx-h100-nic-x8", "-o", str(path)).returncode == 1
    text = path.read_text()
    assert "<dt>since the baseline</dt><dd>new</dd>" in text
    assert "Gone since the baseline" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not JSON"),
        ('{"schema": "railgauge/run/1"}', "not a railgauge/findings/1 document"),
        ('{"schema": "railgauge/findings/1", "findings": [{"id": "x"}]}', "findings[0] lacks"),
        (
            '{"schema": "railgauge/findings/1", "findings": [{"id": "x", "level": "BAD", "subject": "", "message": "", '
            '"effect": "", "remedy": "", "host": ""}]}',
            "not a level",
        ),
        ("<nothing/>", "expected <system>"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path, content, says):
    path = tmp_path / "old.json"
    path.write_text(content)
    done = against("@laptop", str(path))
    assert (done.returncode, done.stdout) == (5, "")
    assert says in done.stderr


def test_a_baseline_is_judged_at_the_same_cost(tmp_path):
    """A port whose counter rose then and rises now is no worse."""
    ports = [{"device": f"mlx5_{n}", "port": 1, "counts": {"symbol_error": 9}} for n in range(12)]
    files = {"/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": "7"}
    there = tmp_path / "there.tar.zst"
    rising = changed("dgx-h100", files=files, facts={"port_errors_later": {"ports": ports}})
    there.write_bytes(dumps(rising, ".tar.zst"))
    done = against(str(there), str(there), "-r", "2", "--only", "ib-errors-rising", "--json")
    found = json.loads(done.stdout)["findings"]
    assert [(one["level"], one["since"]) for one in found if one["subject"] == "mlx5_0:1"] == [("WARN", "same")]


def test_a_price_that_larger_jobs_do_not_share_still_has_its_comparison_below():
    done = railgauge("check", "--from", "@dgx-h100-nic-x8", "--against", "@dgx-h100")
    assert "; on 4 nodes " in done.stdout
    assert "    follows: WARN slower-than-before: dgx-h100: predicted: 2-node all_reduce 1 GiB: " in done.stdout
    assert not [line for line in done.stdout.splitlines() if line.startswith("WARN")]
