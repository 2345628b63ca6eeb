# SPDX-License-Identifier: Apache-2.0
"""Whatever a machine, a file or another host says: no control character of it reaches a terminal or a file, it adds no
line to what is printed, and HTML, SVG and XML stay well-formed and without a script.
"""

import json
import re
from dataclasses import replace

import pytest
from tests.cli.command import in_process, railgauge
from tests.cli.hostile import FORGED, HOSTILE, IN_XML, SETTINGS, assert_clean, assert_inert, at_terminal

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts.capture import dumps
from railgauge.topo.facts.sources.host_identity import HOSTNAME
from railgauge.topo.machine import load_machine


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A DGX H100 whose every text that is a name, and every answer, is hostile."""
    capture = load("dgx-h100")
    names = ("fw_ver", "board_id", "hca_type", "node_desc", "product_name", "rate", "hw_rev", "osrelease", "type")
    texts = {
        path: f"{text} {HOSTILE}" if path.rpartition("/")[2] in names or path == HOSTNAME else text
        for path, text in capture.texts.items()
    }
    cpuinfo = "/proc/cpuinfo"
    texts[cpuinfo] = texts[cpuinfo].replace("model name", f"model name : {HOSTILE.splitlines()[0]}\nmodel name", 1)
    facts = dict(capture.facts)
    gpus = [{**gpu, "name": f"{gpu['name']}{HOSTILE}", "vbios": HOSTILE} for gpu in facts["nvml"]["gpus"]]
    facts["nvml"] = {**facts["nvml"], "gpus": gpus, "driver": HOSTILE}
    facts["fabric_manager"] = {"error": HOSTILE}
    facts["verbs"] = {"error": HOSTILE}
    facts["settings"] = {"environment": dict.fromkeys(SETTINGS, HOSTILE), "files": ["/etc/nccl.conf"]}
    texts["/etc/nccl.conf"] = f"NCCL_IB_TIMEOUT={HOSTILE.splitlines()[0]}\n{FORGED}"
    manifest = {**capture.manifest, "host": HOSTILE, "problems": {f"/sys/{HOSTILE}": HOSTILE}}
    path = tmp_path_factory.mktemp("hostile") / "node.tar.gz"
    path.write_bytes(dumps(replace(capture, manifest=manifest, texts=texts, facts=facts)))
    return str(path)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A topology file whose free texts are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    done = in_process("topo", "dump", "--from", "@dgx-h100")
    text = re.sub(
        r'\b(name|guid|keep|class|vendor|device)="([^"]*)"', lambda m: f'{m[1]}="{m[2]}{IN_XML}"', done.stdout
    )
    text = text.replace("<system ", f'<system unknown="{IN_XML}" ', 1)
    path = folder / "topo.xml"
    path.write_text(text)
    return str(path)


VIEWS = (
    ("topo", "show"),
    ("topo", "show", "--view", "matrix"),
    ("topo", "show", "--view", "rdma"),
    ("topo", "paths"),
    ("topo", "paths", "GPU0", "NIC0"),
    ("topo", "pick", "2"),
    ("topo", "dump"),
    ("check",),
    ("env",),
    ("gdr", "check", "--no-transfer"),
    ("graph", "search"),
    ("graph", "show"),
    ("graph", "predict", "all_reduce"),
)
JSON = ("topo show", "topo paths", "check", "env", "graph search")


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
@pytest.mark.parametrize("source", ["recorded", "described"])
def test_what_a_machine_says_is_text(view, source, request):
    path = request.getfixturevalue(source)
    done = in_process(*view, "--from", path)
    assert done.returncode != 70, done.stderr
    assert_clean(done.stdout)
    assert_clean(done.stderr)
    if " ".join(view) in JSON:
        done = in_process(*view, "--from", path, "--json")
        assert done.stdout.isascii()
        assert_clean(done.stdout)


@pytest.mark.parametrize("view", [VIEWS[0], VIEWS[1], VIEWS[2], ("check",), ("topo", "dump")], ids=" ".join)
@pytest.mark.parametrize("source", ["recorded", "described"])
def test_a_terminal_gets_colours_alone(view, source, request):
    text, status = at_terminal(*view, "--from", request.getfixturevalue(source))
    assert status != 70
    assert len(text) > 50
    assert_clean(text, tty=True)


@pytest.mark.parametrize("source", ["recorded", "described"])
def test_pictures_and_files_are_inert(source, request, tmp_path):
    path = request.getfixturevalue(source)
    for suffix in ("svg", "html", "dot", "json"):
        in_process("topo", "show", "--from", path, "-o", str(tmp_path / f"show.{suffix}"))
    for suffix in ("html", "prom", "json"):
        in_process("check", "--from", path, "-o", str(tmp_path / f"check.{suffix}"))
    for suffix in ("svg", "html", "dot"):
        in_process("graph", "show", "--from", path, "-o", str(tmp_path / f"graph.{suffix}"))
    in_process("topo", "dump", "--from", path, "-o", str(tmp_path / "topo.xml"))
    written = sorted(tmp_path.iterdir())
    assert len(written) >= 10, written
    for one in written:
        assert_inert(one)


def test_lint_and_diff_are_text(recorded, described):
    for args in (("topo", "lint", described), ("topo", "lint", described, "--from", recorded)):
        assert_clean(in_process(*args).stdout)
    done = in_process("topo", "diff", recorded, "@dgx-h100")
    assert done.returncode == 1, done.stderr
    assert_clean(done.stdout)
    assert_clean(in_process("topo", "diff", described, "@dgx-h100").stdout)


def test_a_matrix_of_nvidia_smi_is_text(tmp_path):
    smi = tmp_path / "smi.txt"
    shown = in_process("topo", "show", "--view", "matrix", "--from", "@dgx-h100").stdout
    first = HOSTILE.splitlines()[0].replace("\x85", "")
    smi.write_bytes(shown.replace("NV18", f"NV{first}").replace("mlx5_0", f"mlx5_{first}").encode("utf-8", "replace"))
    args = ("topo", "show", "--view", "matrix", "--from", "@dgx-h100", "--against", str(smi))
    assert_clean(in_process(*args).stdout)
    assert_clean(at_terminal(*args)[0], tty=True)


def test_a_baseline_is_text(recorded, tmp_path):
    document = {
        "schema": "railgauge/findings/1",
        "version": HOSTILE,
        "host": HOSTILE,
        "time": HOSTILE,
        "findings": [
            {
                "id": "pcie-link-degraded",
                "level": "FAIL",
                "host": HOSTILE,
                "subject": HOSTILE,
                "evidence": {HOSTILE: HOSTILE},
                "message": HOSTILE,
                "effect": HOSTILE,
                "remedy": HOSTILE,
            }
        ],
    }
    old = tmp_path / "old.json"
    old.write_text(json.dumps(document))
    for text in ("", "--json"):
        done = in_process("check", "--from", recorded, "--against", str(old), *text.split())
        assert_clean(done.stdout)
        assert_clean(done.stderr)
    assert_clean(at_terminal("check", "--from", recorded, "--against", str(old))[0], tty=True)
    in_process("check", "--from", recorded, "--against", str(old), "-o", str(tmp_path / "new.html"))
    assert_inert(tmp_path / "new.html")


def test_an_archive_is_not_for_a_terminal():
    text, status = at_terminal("topo", "capture", "-o", "/dev/stdout")
    assert status == 2
    assert "is a terminal" in text
    assert_clean(text, tty=True)


def test_an_encoding_that_lacks_a_character_ends_nothing(recorded):
    done = railgauge("topo", "show", "--from", recorded, PYTHONIOENCODING="ascii", timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_a_machine_is_in_colour_at_a_terminal():
    assert "\x1b[" in at_terminal("topo", "show", "--from", "@dgx-h100")[0]


def test_the_fixtures_of_these_tests_are_hostile(recorded, described):
    machine = load_machine(recorded)
    assert "FORGED" in (machine.facts.host.product or "")
