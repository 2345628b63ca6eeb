# SPDX-License-Identifier: Apache-2.0
"""What is expected of a machine, by words, a site's file or its model, and what it has instead."""

from dataclasses import replace

import pytest
from tests.cli.command import in_process
from tests.topo.findings.cluster import fleets
from tests.topo.findings.node.cases import IB, PCI, case, findings

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.expect.expectations import given, of_model
from railgauge.topo.expect.key import KEYS, parse, share_of_link, words
from railgauge.topo.expect.observed import LOOKS
from railgauge.topo.expect.profile import dumps, loads
from railgauge.topo.expect.shipped import CONDITIONS, profiles
from railgauge.topo.expect.site_profile import profile_of
from railgauge.topo.findings.finding import Level

ID = "expectation-unmet"
EXAMPLE = "gpus=8,nics=8,nvlinks=18,link=x16Gen5,rate=400,driver=570.133.20"
AZURE = {"/sys/class/dmi/id/sys_vendor": "Microsoft Corporation", "/sys/class/dmi/id/product_name": "Virtual Machine"}
GOOGLE = {"/sys/class/dmi/id/sys_vendor": "Google", "/sys/class/dmi/id/product_name": "Google Compute Engine"}
AMAZON = {"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/class/dmi/id/product_name": "p5e.48xlarge"}


def unmet(name, text, **changes):
    """(level, key, what was found) of each finding but PASS."""
    found = findings(ID, replace(case(name, **changes), expected=given([text])))
    return [(one.level, one.subject, one.evidence.get("found")) for one in found if one.level is not Level.PASS]


def test_what_is_met_passes_and_names_its_source():
    found = findings(ID, replace(case("hgx-h100-8nic"), expected=given([EXAMPLE])))
    assert {one.level for one in found} == {Level.PASS}
    assert "(--expect): gpus 8, nvlinks 18, link x16 Gen5, nics 8, rate 400, driver 570.133.20" in found[0].message


@pytest.mark.parametrize(
    ("text", "level", "found"),
    [
        ("gpus=9", Level.FAIL, "8"),
        ("gpus=4", Level.WARN, "8"),
        ("nics=9", Level.FAIL, "8"),
        ("nvswitches=5", Level.FAIL, "4"),
        ("nvlinks=17", Level.WARN, "18"),
        ("numa=4", Level.WARN, "2"),
        ("link=x16Gen6", Level.FAIL, "x16 Gen5"),
        ("link=x8", Level.WARN, "x16 Gen5"),
        ("rate=800", Level.WARN, "400"),
        ("mtu=9000", Level.WARN, "1500"),
        ("model=H200", Level.WARN, "NVIDIA H100 80GB HBM3"),
        ("product=DGXH100", Level.WARN, "PowerEdge XE9680"),
        ("driver=570.133.2", Level.WARN, "570.133.20"),
        ("kernel=6.5", Level.WARN, "6.8.0-60-generic"),
        ("firmware=28.39", Level.WARN, "28.43.2026"),
        ("cuda=12.8", Level.UNKNOWN, None),
        ("nccl=2.27", Level.UNKNOWN, None),
        ("vbios=96", Level.UNKNOWN, None),
    ],
)
def test_what_is_not_met_says_what_was_found(text, level, found):
    assert unmet("hgx-h100-8nic", text) == [(level, text.partition("=")[0], found)]


@pytest.mark.parametrize("text", ["driver=570", "kernel=6.8", "model=H100", "link=x16", "link=Gen5", "rate=8*400"])
def test_a_part_of_a_release_a_name_or_a_link_is_met(text):
    assert unmet("hgx-h100-8nic", text) == []


def test_counts_by_value():
    assert unmet("dgx-h100", "rate=8*400+4*200") == []
    assert unmet("dgx-h100", "rate=12*400") == [(Level.WARN, "rate", "8*400+4*200")]
    assert unmet("dgx-h100-port-down", "rate=8*400+4*200") == [(Level.FAIL, "rate", "7*400+4*200+1*DOWN")]


def test_a_port_that_is_down_fails_its_rate_and_refers_to_its_own_finding():
    from railgauge.topo.findings.node.rules import check

    machine = replace(case("dgx-h100-port-down"), expected=given(["rate=8*400+4*200"]))
    [found] = [one for one in check(machine) if one.id == ID and one.level is Level.FAIL]
    assert found.evidence["follows_from"] == ["ib-port-down", "mlx5_3:1"]


def test_a_narrow_link_fails_from_half_on():
    for lanes, level in (("8", Level.FAIL), ("12", Level.WARN)):
        files = {f"{PCI}/0000:1b:00.0/current_link_width": lanes}
        assert unmet("dgx-h100", "link=x16Gen5", files=files) == [(level, "link", f"x{lanes} Gen5")]
    assert share_of_link("x16 Gen5", "x16") is None


def test_a_link_that_rests_is_as_expected():
    assert unmet("dgx-h100", "link=x16Gen5", files={f"{PCI}/0000:1b:00.0/current_link_speed": "2.5 GT/s PCIe"}) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu=8", "unknown expectation 'gpu'; did you mean gpus"),
        ("zzz=8", "use one of: gpus, nics"),
        ("gpus=many", "expected a whole number"),
        ("gpus=-1", "expected a whole number"),
        ("gpus=99999999999", "expected a whole number"),
        ("gpus=²", "expected a whole number"),
        ("link=fast", "lanes and generation"),
        ("link=x17Gen5", "lanes and generation"),
        ("gpus=", "is not KEY=VALUE"),
        ("gpus=8,", "is not KEY=VALUE"),
        ("gpus=8,nics=8,gpus=9", "two values of gpus"),
        ("dgx-h10", "did you mean dgx-h100"),
        ("", "neither KEY=VALUE nor a file"),
    ],
)
def test_a_wrong_expectation_is_a_usage_error(text, said):
    with pytest.raises(UsageError) as error:
        given([text])
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[expects]\ngpus = 8", "expects: is unknown here; did you mean expect"),
        ("gpus = 8", "gpus: is an expectation: it goes below a line [expect]"),
        ("[expect]", "expect: expected a table"),
        ("", "expect: expected a table"),
        ("[expect]\ngpus = true", "expect.gpus: 'True' is not a value"),
        ("[expect]\ngpus = [8]", "expect.gpus: '[8]' is not a value"),
        ("[expect]\ngpus = {8 = 1}", "expect.gpus: expected one value"),
        ("[expect]\nrate = {400 = 0}", "expect.rate: '400': expected the number of devices"),
        ("[expect]\nrate = {}", "expect.rate: expected one value"),
        ("name = 3\n[expect]\ngpus = 8", "name: expected a text"),
        ("not toml", "not a profile"),
        ("\xff", "not a profile"),
        ("x" * (1 << 19), "larger than"),
    ],
)
def test_a_wrong_profile_names_file_and_key(tmp_path, text, said):
    path = tmp_path / "site.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as error:
        given([str(path)])
    assert said in str(error.value)
    assert "site.toml" in f"{error.value}{error.value.path}"


@pytest.mark.parametrize(
    "name", ["dgx-h100", "a100-4gpu", "laptop", "vm-flat", "gb200-tray", "odd-nics", "dgx-h100-port-down"]
)
def test_a_machine_meets_the_profile_that_was_made_from_it(name, tmp_path):
    machine = case(name)
    profile, unread = profile_of(machine.facts, 'a "name"', "back\\slash")
    text = dumps(profile, unread)
    assert loads(text.encode(), "site.toml") == profile
    (tmp_path / "site.toml").write_text(text)
    found = findings(ID, replace(machine, expected=given([str(tmp_path / "site.toml")])))
    assert {one.level for one in found} == {Level.PASS}
    assert {*profile.expect} | {*unread} <= {*KEYS}


def test_a_profile_of_a_good_node_shows_what_another_lacks(tmp_path):
    profile, unread = profile_of(case("dgx-h100").facts, "good", "")
    (tmp_path / "site.toml").write_text(dumps(profile, unread))
    site = str(tmp_path / "site.toml")
    assert unmet("dgx-h100-nic-x8", site) == [(Level.FAIL, "nic_link", "x8 Gen5")]
    assert unmet("dgx-h100-nvlink-down", site) == [(Level.WARN, "nvlinks", "17")]
    assert (Level.FAIL, "gpus", "7") in unmet("dgx-h100-gpu-lost", site)
    assert (Level.FAIL, "nics", "11") in unmet("dgx-h100", site, files={f"{IB}/mlx5_3": None})


def test_later_expectations_replace_earlier_ones_and_those_of_the_model():
    assert words(given(["dgx-h100", "gpus=4"]).by_key["gpus"].value) == "4"
    assert unmet("dgx-h100", "gpus=8,nvswitches=2") == [(Level.WARN, "nvswitches", "4")]


@pytest.mark.parametrize(
    ("name", "files", "model"),
    [
        ("dgx-h100", {}, "dgx-h100"),
        ("dgx-a100", {}, "dgx-a100"),
        ("hgx-h100-8nic", {}, "hgx-h100"),
        ("gb200-tray", {}, "gb200-nvl72"),
        ("vm-flat", {}, None),
        ("vm-flat", AZURE, "azure-nd-h200-v5"),
        ("vm-flat", GOOGLE, "gcp-a3-ultra"),
        ("vm-flat", AMAZON, "aws-p5"),
        ("a100-4gpu", {}, None),
        ("laptop", {}, None),
        ("dgx-2", {}, None),
        ("hgx-h100-8nic", {"/proc/cpuinfo": "flags\t\t: hypervisor"}, None),
        ("hgx-h100-8nic", {"/proc/cpuinfo": None}, None),
        ("dgx-h100", {"/sys/class/dmi/id/product_name": "DGXH100", "/proc/cpuinfo": "flags\t\t: hypervisor"}, None),
        ("hgx-h100-8nic", {f"{PCI}/0000:05:00.0": None}, "hgx-h100"),
    ],
)
def test_a_profile_is_found_by_model_and_never_assumed(name, files, model):
    sources = {one.source.split(",")[0] for one in of_model(case(name, files=files).facts).by_key.values()}
    assert sources == ({f"profile {model}"} if model else set())


def test_shipped_profiles_are_whole():
    names = [profile.name for profile in profiles()]
    assert len({*names}) == len(names) >= 15
    for profile in profiles():
        assert profile.about
        assert profile.match
        assert {*profile.match} <= {*CONDITIONS}
        assert {"gpus", "nvlinks"} <= {*profile.expect}
    assert {*LOOKS} == {*KEYS}


def test_a_shipped_profile_counts_what_is_on_pci_and_takes_more():
    some = {f"{one}.gpus": case("dgx-h100").facts.reader.facts(one)["gpus"][:4] for one in ("nvml", "cuda")}
    [found] = findings(ID, case("dgx-h100", facts=some))
    assert (found.level, "gpus 8 on PCI" in found.message) == (Level.PASS, True)
    assert unmet("dgx-h100", "gpus=8", facts=some) == [(Level.FAIL, "gpus", "4")]


def test_values_are_compared_as_they_are_shown():
    assert parse("rate", "8*400.0+4*200") == {"400": 8, "200": 4}
    assert words(parse("link", "X16gen5")) == "x16 Gen5"


def test_an_unknown_key_of_a_profile_is_named_and_the_others_count(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text('rack = "b7"\n[match]\nproduct = "x"\n[expect]\ngpus = 9\ngpuz = 8\n')
    expected = given([str(path)])
    said = {
        "rack": "is unknown here; known keys: name, about, expect",
        "match": "is unknown here; known keys: name, about, expect",
        "gpuz": "unknown expectation 'gpuz'; did you mean gpus",
    }
    assert expected.warnings == tuple(f"{path}: {key}: {why}" for key, why in said.items())
    found = findings("expectation-unmet", replace(case("pcie-switch"), expected=expected))
    assert {(one.level, one.subject) for one in found} == {
        (Level.FAIL, "gpus"),
        *((Level.UNKNOWN, key) for key in said),
    }


def test_no_shipped_profile_has_an_unknown_key():
    assert not [profile.name for profile in profiles() if profile.unknown]


@pytest.mark.parametrize("command", [("check", "--from", "@dgx-h100"), ("cluster", "check", "--from", ".")])
def test_a_command_names_the_unknown_key_once(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.toml").write_text("[expect]\ngpus = 8\necc = 1\n")
    fleets.write(tmp_path, "gpu1", fleets.usual())
    done = in_process(*command, "--expect", "site.toml")
    assert done.returncode == 0, done.stdout
    assert done.stderr.count("site.toml: ecc: unknown expectation 'ecc'") == 1


@pytest.mark.parametrize(
    ("name", "profile"), [("dgx-h100", "dgx-h200"), ("dgx-a100", "azure-nd-h100-v5"), ("hgx-h100-8nic", "hgx-b200")]
)
def test_a_named_profile_of_another_model_is_not_met(name, profile):
    assert Level.WARN in {level for level, key, _ in unmet(name, profile) if key == "model"}


def test_what_is_not_known_names_its_key():
    machine = replace(case("dgx-h100"), expected=given(["cuda=12,vbios=96"]))
    said = [one.message for one in findings(ID, machine)]
    assert [text.split(" expected")[0] for text in said if "expected (--expect)" in text] == ["cuda 12", "vbios 96"]


def test_a_port_that_is_down_may_be_expected_in_any_case():
    assert words(parse("rate", "7*400+1*down")) == "7*400+1*DOWN"
    with pytest.raises(UsageError, match="a number of Gb/s, or DOWN"):
        parse("rate", "fast")
