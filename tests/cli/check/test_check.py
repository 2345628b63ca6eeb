# SPDX-License-Identifier: Apache-2.0
"""railgauge check: levels and exit status, the text, and the files that -o writes."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.cli.command import in_process as railgauge
from tests.topo.findings.topology_file.topology_text import HEALTHY

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.render.findings_metrics import dumps

DOCS = Path(__file__).parents[3] / "docs" / "guide" / "check.md"
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} ([0-9.]+)')
VOID = ("meta", "br", "img", "link")


@pytest.fixture
def faulty(tmp_path):
    path = tmp_path / "machine.toml"
    fixture = Path(__file__).parents[3] / "fixtures/dgx-h100/machine.toml"
    path.write_text(f'base = "{fixture}"\n[facts.nvml]\ngpus.0.fabric = {{ state = 2, status = 0, clique = 0 }}\n')
    return str(path)


def test_a_healthy_machine_has_no_warning():
    done = railgauge("check", "--from", "@dgx-h100")
    assert done.returncode == 0, done.stdout
    assert not re.search(r"^(WARN|FAIL)", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(("fail_on", "status"), [("FAIL", 1), ("WARN", 1), ("UNKNOWN", 1)])
def test_a_fault_ends_with_status_1(faulty, fail_on, status):
    done = railgauge("check", "--from", faulty, "--fail-on", fail_on)
    assert done.returncode == status
    assert done.stdout.startswith("FAIL fabric-not-ready: GPU0 (0000:1b:00.0)")


def test_a_warning_counts_unless_fail_on_says_otherwise():
    assert railgauge("check", "--from", "@hgx-h100-gid-holes").returncode == 1
    assert railgauge("check", "--from", "@hgx-h100-gid-holes", "--fail-on", "FAIL").returncode == 0


def test_unknown_counts_only_when_asked_for():
    arguments = ("check", "--from", "@dgx-h100", "--only", "acs-enabled")
    assert railgauge(*arguments).returncode == 0
    assert railgauge(*arguments, "--fail-on", "UNKNOWN").returncode == 1


def test_the_effect_of_a_narrow_nic_is_predicted():
    done = railgauge("check", "--from", "@dgx-h100-nic-x8", "--json", "--only", "pcie-link-degraded")
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["evidence"] | {"source": ""} == {"current": "x8", "max": "x16", "source": ""}
    assert re.search(r"\d+ -> \d+ GB/s busbw", finding["effect"])


def test_a_topology_file_that_is_named_is_judged(tmp_path):
    path = tmp_path / "topo.xml"
    assert railgauge("topo", "dump", "--from", "@dgx-a100", "-o", str(path)).returncode == 0
    done = railgauge("check", "--from", "@dgx-h100", "--topo-file", str(path), "--only", "topo-file-stale")
    assert done.returncode == 1
    assert "the machine has no GPU at 0000:07:00.0" in done.stdout


def test_gpus_that_are_left_out_are_not_judged(faulty):
    assert railgauge("check", "--from", faulty, "--gpus", "1,2").returncode == 0
    assert railgauge("check", "--from", faulty, "--gpus", "0,2").returncode == 1


def test_the_report_is_one_page_without_scripts(tmp_path, faulty):
    path = tmp_path / "report.html"
    assert railgauge("check", "--from", faulty, "-o", str(path)).returncode == 1
    page = Tags(path.read_text())
    assert not page.open
    assert "script" not in page.seen
    assert not re.search(r"(src|href)=|@import|url\((?!#)", path.read_text())
    assert {"svg", "table", "dl"} <= page.seen
    assert "fabric-not-ready" in path.read_text()


def test_a_file_of_which_no_model_can_be_made_is_reported_without_a_picture(tmp_path):
    path, report = tmp_path / "topo.xml", tmp_path / "report.html"
    path.write_text(HEALTHY.replace('<cpu numaid="1"', '<cpu numaid="0"', 1))
    assert railgauge("check", "--from", str(path), "-o", str(report)).returncode == 1
    assert "topo-file-faulty" in report.read_text()
    assert not Tags(report.read_text()).open


def test_a_setting_that_names_no_topology_is_found(tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text("<nothing/>")
    done = railgauge("check", "--only", "topo-file-faulty", NCCL_TOPO_FILE=str(path))
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL topo-file-faulty: NCCL cannot use the file:")


def test_the_file_of_findings_is_the_document(tmp_path, faulty):
    path = tmp_path / "findings.json"
    railgauge("check", "--from", faulty, "-o", str(path))
    printed = json.loads(railgauge("check", "--from", faulty, "--json").stdout)
    assert json.loads(path.read_text())["findings"] == printed["findings"]


def test_metrics_name_each_finding_and_count_the_levels(tmp_path, faulty):
    path = tmp_path / "check.prom"
    railgauge("check", "--from", faulty, "-o", str(path))
    text = path.read_text()
    assert 'railgauge_finding{id="fabric-not-ready",level="FAIL",subject="0000:1b:00.0",host="dgx-h100"} 1' in text
    assert 'railgauge_findings{level="FAIL",host="dgx-h100"} 1' in text
    assert text.endswith("# EOF\n")
    assert all(SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))


def test_metrics_survive_any_subject_and_repeat_no_series():
    odd = Finding(id="x", level=Level.WARN, subject='a"b\\c\nd', message="", host="h")
    lines = dumps([odd, odd], "h", 1.5).splitlines()
    samples = [line for line in lines if line.startswith("railgauge_finding{")]
    assert samples == ['railgauge_finding{id="x",level="WARN",subject="a\\"b\\\\c\\nd",host="h"} 1']
    assert SAMPLE.fullmatch(samples[0])


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "x.pdf"),
        ("-o", "x.json", "--json"),
        ("--only", "no-such-rule"),
        ("--skip", "no-such-rule"),
        ("--only", "nodes-differ"),
        ("-r", "4"),
        ("--fail-on", "BAD"),
    ],
)
def test_wrong_usage(arguments):
    assert railgauge("check", "--from", "@laptop", *arguments).returncode == 2


class Tags(HTMLParser):
    """The elements of a page, and those that nobody closed."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_level_3_says_that_it_moves_no_data(form):
    third = railgauge("check", "--from", "@laptop", "-r", "3", *form)
    second = railgauge("check", "--from", "@laptop", "-r", "2", *form)
    assert third.returncode == second.returncode == 0
    assert "-r 3 is the same as -r 2: check moves no data" in third.stderr
    assert "moves no data" not in second.stderr
    if form:
        assert json.loads(third.stdout)["findings"] == json.loads(second.stdout)["findings"]
    else:
        assert third.stdout == second.stdout


def test_help_and_docs_promise_no_data_moved():
    assert "move data" not in railgauge("check", "--help").stdout
    assert "`-r 3` moves data" not in DOCS.read_text()


FOUR = [("0000:01:00.0", 16), ("0000:02:00.0", 8), ("0000:03:00.0", 8), ("0000:04:00.0", 8)]


def test_the_picture_and_the_findings_of_one_page_agree(tmp_path):
    """Of four GPUs at x16 x8 x8 x8 most have x8: no view marks one, and none says that all is well."""
    cards = "".join(
        f'<pci busid="{bus_id}" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" '
        f'link_width="{lanes}"><gpu dev="{dev}" sm="90" rank="{dev}" gdr="1"/></pci>'
        for dev, (bus_id, lanes) in enumerate(FOUR)
    )
    path, page = tmp_path / "four.xml", tmp_path / "four.html"
    path.write_text(f'<system version="1"><cpu numaid="0" affinity="ff" arch="arm64">{cards}</cpu></system>')
    railgauge("check", "--from", str(path), "--only", "pcie-link-degraded", "-o", str(page))
    assert "narrower than expected" not in page.read_text()
    assert page.read_text().count("another device of the model has x16 Gen5") == 3
    assert "its twins" not in page.read_text()
    assert 'class="wrong"' not in page.read_text()


def test_links_of_a_guest_are_marked_by_no_view():
    assert '"faults"' not in railgauge("topo", "show", "--from", "@vm-flat", "--json").stdout
    done = railgauge("check", "--from", "@vm-flat", "--only", "pcie-link-degraded")
    assert done.stdout.startswith("PASS pcie-link-degraded")


def test_what_another_command_looks_for_may_be_left_out():
    done = railgauge("check", "--from", "@laptop", "--skip", "nodes-differ", "--skip", "slow-link")
    assert done.returncode == 0
