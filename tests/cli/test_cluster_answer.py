# SPDX-License-Identifier: Apache-2.0
"""What cluster check prints and writes: the verdict first, every node by name, and each cause once."""

import csv
import json
import re
import shlex
import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from tests.cli.command import clean_environment, command, in_process
from tests.cli.test_schemas import check
from tests.collectives.by_hand import free_port
from tests.patience import HANGS_AFTER_S
from tests.topo.findings.cluster.fleets import usual, without, write


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Eight nodes: one clean, six with a fault each, one unreadable."""
    folder = tmp_path_factory.mktemp("fleet")
    machine = usual()
    machine = replace(machine, facts=machine.facts | {"settings": {"environment": {}, "files": []}})
    changed = {
        name: replace(
            usual(f"dgx-h100-{name}"), facts=usual(f"dgx-h100-{name}").facts | {"settings": machine.facts["settings"]}
        )
        for name in ("nic-x8", "port-down", "nvlink-down")
    }
    for number in range(1, 8):
        one = {2: changed["nic-x8"], 3: without(machine, "0000:61:00.0"), 6: changed["nvlink-down"]}.get(
            number, machine
        )
        one = changed["port-down"] if number in (4, 5) else changed["nic-x8"] if number == 7 else one
        write(folder, f"gpu{number:02}", one)
    (folder / "gpu08.tar.gz").write_bytes(b"nothing")
    return str(folder)


def answer(fleet, *arguments):
    done = in_process("cluster", "check", "--from", fleet, *arguments)
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_the_first_line_names_every_node_that_is_not_clean(fleet):
    first, design, unread, *_ = answer(fleet).splitlines()
    assert first == "8 nodes: 1 clean, 6 with findings: gpu[02-07], 1 not read: gpu08"
    assert design.startswith("gpu[01-07]: 8 x NVIDIA H100 80GB HBM3, 12 NICs")
    assert unread.startswith("not read: gpu08: ")


def test_causes_have_their_nodes_and_what_follows_is_below(fleet):
    lines = answer(fleet).splitlines()
    start = lines.index(
        "FAIL ib-port-down: gpu[04-05] (2 of 8 nodes): mlx5_3:1: state DOWN, physical state Polling: "
        "NCCL does not use it; 7 of its kind are up"
    )
    below = [line for line in lines[start + 1 : start + 6] if line.startswith("    follows: ")]
    assert len(below) == 3
    assert all("gpu[04-05] (2 of 8 nodes)" in line for line in below)
    text = "\n".join(line for line in lines if not line.startswith(" "))
    assert "nodes-differ: gpu[04-05]" not in text
    assert "--json has all" not in text


def test_no_id_passes_that_failed_on_a_node(fleet):
    lines = answer(fleet, "-v").splitlines()
    passed = {word.strip(",") for line in lines if line.startswith("PASS") for word in line.split()}
    found = {line.split()[1].strip(":") for line in lines if line.startswith(("FAIL", "WARN", "INFO"))}
    assert found
    assert not passed & found


def test_a_node_a_line(fleet):
    first, head, *rows = answer(fleet, "--table").splitlines()
    assert first.startswith("8 nodes: 1 clean, ")
    assert head.split() == ["node", "verdict", "cause", "device", "more", "message"]
    assert [row.split()[0] for row in rows] == [f"gpu{number:02}" for number in range(1, 9)]
    assert rows[0].split() == ["gpu01", "clean"]
    assert rows[3].split()[1:4] == ["FAIL", "ib-port-down", "mlx5_3:1"]
    assert rows[7].split()[1:3] == ["not", "read"]


def test_lines_for_scontrol_are_words_of_a_shell(fleet, tmp_path):
    text = answer(fleet, "--drain")
    words = [shlex.split(line) for line in text.splitlines()]
    assert {nodes: reason.split(": ")[1] for nodes, reason in words} == {
        "gpu[02,07]": "pcie-link-degraded",
        "gpu03": "gpu-lost",
        "gpu[04-05]": "ib-port-down",
        "gpu06": "nvlink-missing",
    }
    script = 'while read -r nodes reason; do eval "printf %s\\\\\\\\n nodename=$nodes reason=$reason"; done'
    done = subprocess.run(["sh", "-c", script], input=text, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert f"reason={words[0][1]}" in done.stdout.splitlines()
    assert all(len(reason) <= 255 for _, reason in words)


def test_only_nodes_at_the_level_of_fail_on_are_drained(fleet):
    done = in_process("cluster", "check", "--from", fleet, "--drain", "--fail-on", "FAIL")
    assert done.stdout
    assert "nvlink-missing" not in done.stdout
    assert "gpu08: not read, so not listed" in done.stderr


def test_nodes_that_were_not_read_come_first_with_status_1_and_the_others_are_judged(tmp_path):
    write(tmp_path, "gpu1", usual())
    cut = (tmp_path / "gpu1.tar.gz").read_bytes()[:3000]
    for name, left in (("gpu2", b"nothing"), ("gpu3", cut), ("gpu4", cut)):
        (tmp_path / f"{name}.tar.gz").write_bytes(left)
    report, metrics = tmp_path / "r.json", tmp_path / "r.prom"
    options = ("-o", str(report), "-o", str(metrics))
    in_process("cluster", "check", "--from", str(tmp_path), *options)
    unread = [one for one in json.loads(report.read_text())["findings"] if one["message"].startswith("not read")]
    assert {(one["subject"], one["host"]) for one in unread} == {("gpu2", "gpu2"), ("gpu[3-4]", "gpu[3-4]")}
    for node in ("gpu2", "gpu3", "gpu4"):
        sample = f'railgauge_finding{{id="nodes-differ",level="UNKNOWN",subject="{node}",host="{node}"}} 1'
        assert sample in metrics.read_text().splitlines()
    for file in (report, metrics):
        file.unlink()
    done = in_process("cluster", "check", "--from", str(tmp_path), "--skip", "host-id-collision")
    first, second, *more = done.stdout.splitlines()
    assert first == "4 nodes: 1 clean, 3 not read: gpu[2-4]"
    assert second.startswith("gpu1: 8 x NVIDIA H100")
    assert more[0].startswith("not read: gpu2: neither a topology file")
    assert more[1].startswith("not read: gpu[3-4]: not a readable archive: truncated")
    assert done.returncode == 1


def test_the_document_has_each_nodes_verdict(fleet, tmp_path):
    document = json.loads(answer(fleet, "--json"))
    check("findings", document)
    verdicts = {one["node"]: one["verdict"] for one in document["nodes"]}
    assert verdicts["gpu01"] == "clean"
    assert verdicts["gpu08"] == "not read"
    assert {one["node"]: one["causes"] for one in document["nodes"]}["gpu04"] == ["ib-port-down"]
    answer(fleet, "-o", str(tmp_path / "r.json"), "-o", str(tmp_path / "r.csv"), "-o", str(tmp_path / "r.prom"))
    assert json.loads((tmp_path / "r.json").read_text())["nodes"] == document["nodes"]
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert {row["node"]: row["verdict"] for row in rows} == verdicts
    assert ("gpu05", "ib-port-down") in {(row["node"], row["id"]) for row in rows}
    metrics = (tmp_path / "r.prom").read_text().splitlines()
    assert 'railgauge_finding{id="ib-port-down",level="FAIL",subject="mlx5_3:1",host="gpu05"} 1' in metrics
    assert 'railgauge_cluster_nodes{verdict="clean"} 1' in metrics
    assert len(metrics) == len(set(metrics))
    assert metrics[-1] == "# EOF"


def test_the_page_has_a_picture_of_rails_and_nodes_and_does_not_overflow(fleet, tmp_path):
    path = tmp_path / "report.html"
    answer(fleet, "-o", str(path))
    page = path.read_text()
    assert "8 nodes: 1 clean, 6 with findings: gpu[02-07], 1 not read: gpu08" in page
    drawn = ElementTree.fromstring(re.search(r"<svg.*?</svg>", page, re.DOTALL)[0])
    labels = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "label"]
    assert labels == ["gpu01", "gpu[02,07] (2)", "gpu03", "gpu[04-05] (2)", "gpu06", "gpu08"]
    states = [dot.get("class") for dot in drawn.iter("{http://www.w3.org/2000/svg}circle")]
    assert (states.count("missing"), states.count("WARN"), states.count("unread")) == (1, 1, 1)
    assert len(re.findall("<table>", page)) == len(re.findall('<div class="scroll"><table>', page))
    assert "figure, .scroll { margin: 0; overflow-x: auto }" in page
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("arguments", [("--table", "--drain"), ("-v", "-q"), ("-o", "a.json", "-o", "b.json")])
def test_answers_that_exclude_each_other(fleet, arguments):
    assert in_process("cluster", "check", "--from", fleet, *arguments).returncode == 2


def ranks(port, world, present, timeout="20"):
    """The processes of a job on this machine, each as if on a node of its own."""
    job = {"WORLD_SIZE": str(world), "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    argv = command("cluster", "check", "--only", "driver-mismatch", "--only", "nodes-differ", "--timeout", timeout)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(argv, env=clean_environment(RANK=str(rank), **job), **pipes) for rank in range(present)]
    return [(*one.communicate(timeout=HANGS_AFTER_S), one.returncode) for one in started]


def test_each_process_of_a_job_captures_its_node_and_rank_0_answers():
    (text, _, status), (other, error, status_1) = ranks(free_port(), 2, 2)
    assert (other, error, status_1) == ("", "", 0)
    assert text.startswith("2 nodes: ")
    assert status == 0


def test_a_rank_that_is_missing_is_named():
    ((text, _, status),) = ranks(free_port(), 2, 1, timeout="2")
    assert text.startswith("2 nodes: 1 clean, 1 not read: rank1\n")
    assert "not read: rank1: sent nothing within 4 s" in text
    assert status == 1
