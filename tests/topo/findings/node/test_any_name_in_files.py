# SPDX-License-Identifier: Apache-2.0
"""NCCL sets every name of its files: `check` and `env` say so, also of those that are not NCCL's."""

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.sources.nccl_settings import HOST_FILE
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node import conf_file_forgotten
from railgauge.topo.findings.settings.judgement import judge
from railgauge.topo.findings.settings.verdict import SettingVerdict
from railgauge.topo.machine import recorded

FORMER = "/home/jdoe/.nccl.conf"


def machine(text, former=None):
    facts = {"environment": {}, "files": [HOST_FILE], **({"former": FORMER} if former else {})}
    texts = {HOST_FILE: text, **({FORMER: former} if former else {})}
    return recorded(CaptureReader(Capture(manifest={}, texts=texts, facts={"settings": facts})))


def found(one):
    return {finding.subject: finding for finding in conf_file_forgotten.RULE.check(one)}


def test_check_warns_of_hidden_gpus_and_lists_other_names():
    findings = found(machine("CUDA_VISIBLE_DEVICES=0\nFOO=1\n"))
    assert findings["CUDA_VISIBLE_DEVICES"].level is Level.WARN
    assert findings["FOO"].level is Level.INFO
    assert "any name" in findings["FOO"].message


def test_env_judges_them():
    here = machine("CUDA_VISIBLE_DEVICES=0\nFOO=1\nexport NCCL_NET=IB\n")
    judged = {one.name: judge(here, one).opinion for one in here.known_settings}
    assert judged["CUDA_VISIBLE_DEVICES"].finding == "conf-file-forgotten"
    assert judged["CUDA_VISIBLE_DEVICES"].verdict is SettingVerdict.HARMFUL
    assert judged["FOO"].verdict is SettingVerdict.EFFECTIVE
    assert judged["export NCCL_NET"].finding == "nccl-setting-ignored"


def test_the_file_of_another_home_is_named_with_the_releases_that_read_it():
    findings = found(machine("", former="NCCL_DEBUG=INFO\n"))
    assert "up to 2.29" in findings[FORMER].message
    assert findings[FORMER].level is Level.INFO
    assert FORMER not in found(machine(""))
