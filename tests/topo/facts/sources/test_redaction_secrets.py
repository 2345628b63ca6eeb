# SPDX-License-Identifier: Apache-2.0
"""Secrets and names in settings, paths and configuration files: a redacted archive has none, and answers the same."""

import json
import pathlib
from dataclasses import replace

import pytest
from tests.cli.command import in_process

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts.capture import Capture, dumps
from railgauge.topo.facts.redaction.configuration_files import NO_ELEMENT, only_elements
from railgauge.topo.facts.redaction.pseudonym import derived_key
from railgauge.topo.facts.redaction.redaction import redact
from railgauge.topo.facts.sources.host_identity import HOSTNAME
from railgauge.topo.files.compression import unpack
from railgauge.topo.machine import record

FIXTURES = pathlib.Path(__file__).parents[4] / "fixtures"
KEY = derived_key("secret")
CONF, TOPO = "/data/teams/opsyard/kwhite/nccl-kestrel.conf", "/scratch/projects/moonshot/kwhite.xml"
SETTINGS = {
    "NCCL_COMM_ID": "headnode-seven.corp.example.net:29500",
    "NCCL_RAS_ADDR": "gpu-37b:28028",
    "NCCL_TUNER_PLUGIN": "secretsauce",
    "NCCL_SOCKET_IFNAME": "=eth0,^docker",
    "NCCL_IB_HCA": "mlx5_0:1,mlx5_1",
    "NCCL_HOSTID": "pinkpanther",
    "NCCL_CONF_FILE": CONF,
    "NCCL_TOPO_FILE": TOPO,
    "NCCL_DEBUG_FILE": "/var/log/projektx/nccl.%h.%p.log",
    "NCCL_DEBUG": "p4ssw0rd",
    "NCCL_NET_PLUGIN": "/opt/acmecorp/libnccl-net.so",
    "NCCL_NET": "acmeplugin",
    "NCCL_MY_TOKEN": "s3cr3t-unknown",
    "NCCL_MY_PIN": "4711471147114711",
    "NCCL_PROXY_URL": "https://alice:opensesame@vault.corp.example.net/v1?sig=querysecret",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_ALGO": "Ring,Tree",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "/home/users2/mallory/dump_",
    "NCCL_GRAPH_DUMP_FILE": "/dev/shm/walterwhite.xml",
    "UCX_NET_DEVICES": "mlx5_0:1",
}
CONFIGURATION = """\
# password: CorrectHorseBatteryStaple
db_password=Tr0ub4dor
root:$6$saltsalt$hashhashhash:19000:0:99999:7:::
NCCL_IB_SL=3
NCCL_COMM_ID=otherhead.corp:1
NCCL_VAULT=ghp_abcdefghijklmnop1234
export HF_TOKEN=hf_zyxwvutsrqponm
"""
TOPOLOGY = """\
<!-- made by bobthebuilder, key AKIAABCDEFGHIJKLMNOP -->
<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85" apitoken="tok-zebra">
  between-the-lines
  </cpu>
</system>
"""
PROBLEMS = {
    "/home/kwhite/private/x": "open /data/kwhite/y: Permission denied, cc -I/home/kwhite file:///home/kwhite/z",
    "/sys/class/x": "curl http://carol:swordfish@proxyhost.corp/ failed, token=blackbird",
}
SECRETS = (
    *(
        "headnode",
        "corp.example",
        "gpu-37b",
        "secretsauce",
        "pinkpanther",
        "opsyard",
        "kwhite",
        "kestrel",
        "moonshot",
        "projektx",
    ),
    *("p4ssw0rd", "acmecorp", "acmeplugin", "s3cr3t", "4711471147114711", "alice", "opensesame", "vault.corp"),
    *("querysecret", "mallory", "correcthorse", "tr0ub4dor", "saltsalt", "otherhead", "ghp_abc", "hf_zyx"),
    *("bobthebuilder", "akiaabc", "tok-zebra", "between-the-lines", "carol", "swordfish", "proxyhost", "blackbird"),
    "walterwhite",
)
NEVER = ("CorrectHorse", "Tr0ub4dor", "saltsalt", "hf_zyx", "bobthebuilder", "AKIAABC", "between-the-lines")
"""What no capture has, redacted or not."""


def planted(name="dgx-h100"):
    capture = load(name)
    texts = {**capture.texts, CONF: CONFIGURATION, TOPO: TOPOLOGY}
    facts = {**capture.facts, "settings": {"environment": SETTINGS, "files": [CONF, "/etc/nccl.conf"]}}
    facts["verbs"] = {"asked": "/data/kwhite/venv/bin/python3.11", "error": "/data/kwhite/lib/libibverbs.so.1: no"}
    return replace(capture, manifest={**capture.manifest, "problems": PROBLEMS}, texts=texts, facts=facts)


def whole(capture):
    return unpack(dumps(capture), "x").decode("utf-8", "replace")


def test_no_secret_is_left():
    assert [one for one in SECRETS if one not in whole(planted()).lower()] == []  # the list is no fiction
    text = whole(redact(planted(), KEY)).lower()
    assert [one for one in SECRETS if one in text] == []


def test_what_tells_nothing_stays():
    settings = redact(planted(), KEY).facts["settings"]["environment"]
    for name in ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_TIMEOUT", "NCCL_ALGO", "UCX_NET_DEVICES"):
        assert settings[name] == SETTINGS[name]
    assert settings["NCCL_DEBUG_FILE"].endswith("/nccl.%h.%p.log")
    assert settings["NCCL_NET_PLUGIN"].endswith("/libnccl-net.so")
    assert settings["NCCL_COMM_ID"].endswith(":29500")


def test_files_are_found_where_the_settings_say():
    redacted = redact(planted(), KEY)
    environment, files = (redacted.facts["settings"][key] for key in ("environment", "files"))
    assert environment["NCCL_CONF_FILE"] == files[0]
    assert "NCCL_IB_SL=3" in redacted.texts[files[0]].splitlines()
    assert redacted.texts[environment["NCCL_TOPO_FILE"]].splitlines()[1] == '<system version="1">'


def test_a_live_recording_keeps_only_what_nccl_reads(tmp_path, monkeypatch):
    """Without pseudonyms too: root's NCCL_CONF_FILE=/etc/shadow puts no line of that file into a capture."""
    shadow, conf, topo = (tmp_path / name for name in ("shadow", "conf", "topo.xml"))
    shadow.write_text("root:$6$saltsalt$hash:1:0:9:7:::\nNCCL_IB_SL=3\n")
    conf.write_text(CONFIGURATION)
    topo.write_text(TOPOLOGY)
    for given, other in ((conf, topo), (shadow, shadow), (topo, conf)):
        monkeypatch.setenv("NCCL_CONF_FILE", str(given))
        monkeypatch.setenv("NCCL_TOPO_FILE", str(other))
        capture, _ = record()
        assert [one for one in NEVER if one in whole(capture)] == []
        if given is not topo:
            assert "NCCL_IB_SL=3" in capture.texts[str(given)]
    monkeypatch.setenv("NCCL_CONF_FILE", str(conf))
    monkeypatch.setenv("NCCL_TOPO_FILE", str(topo))
    text = record()[0].texts[str(topo)]
    assert text.splitlines()[1].startswith("<system")  # on its own line still


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("root:x:0", NO_ELEMENT),
        ("<users><user password='tok-zebra'/></users>", "<users/>"),
        ("<!-- a b --><system version='1'>\n a</system>", "<!-- x x --><system version='1'>\n x</system>"),
        ("<!-- <system> --><users password='tok-zebra'/>", "<users/>"),
        ("<?xml version='1.0'?>\n<system a='>'/>", "<?xml version='1.0'?>\n<system a='>'/>"),
        ("<system a='1'><cpu b=", "<system a='1'><xxx xx"),
        ("", NO_ELEMENT),
    ],
)
def test_of_a_topology_file_the_elements_stay(text, left):
    assert only_elements(text) == left


def test_a_link_to_a_configuration_file_is_one():
    capture = Capture(
        manifest={},
        texts={"/srv/x/real": CONFIGURATION, HOSTNAME: "gpu-1"},
        links={"/etc/nccl.conf": "../srv/x/real"},
        facts={"settings": {"environment": {}, "files": ["/etc/nccl.conf"]}},
    )
    text = whole(redact(capture, KEY))
    assert [one for one in NEVER if one in text] == []
    assert "NCCL_IB_SL=3" in text


@pytest.mark.parametrize("name", sorted(path.parent.name for path in FIXTURES.glob("*/machine.toml")))
def test_the_same_is_found_in_a_redacted_capture(name, tmp_path):
    """But for names: levels and ids of all findings, and the verdicts on all settings."""
    (tmp_path / "plain.tar.gz").write_bytes(dumps(planted(name)))
    (tmp_path / "hidden.tar.gz").write_bytes(dumps(redact(planted(name), KEY)))

    def answers(path):
        check = json.loads(in_process("check", "--from", str(path), "--json").stdout)
        env = in_process("env", "--from", str(path))
        verdicts = sorted(line.rpartition(": ")[2] for line in env.stdout.splitlines() if line.startswith("NCCL_"))
        return sorted((one["id"], one["level"]) for one in check["findings"]), verdicts

    assert answers(tmp_path / "plain.tar.gz") == answers(tmp_path / "hidden.tar.gz")
