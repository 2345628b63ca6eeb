# SPDX-License-Identifier: Apache-2.0
"""Settings that steer paths are read as NCCL reads them."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.levels import MEANING, Levels, PathTypeLimit, read_levels
from railgauge.topo.nccl.settings.steering import in_force, parse_settings


def test_without_settings_the_defaults_of_nccl_hold():
    assert read_levels({"PATH": "/bin", "NCCL_DEBUG": "INFO"}) == Levels()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("NVL", "NVL"),
        ("P2C", "P2C"),
        ("SYS", "SYS"),
        ("0", "LOC"),
        ("1", "PIX"),
        ("3", "PHB"),
        ("5", "SYS"),
        ("99", "SYS"),
        ("0x2", "PXB"),
        ("2nd", "PXB"),
        ("9999999999999999999999", "SYS"),
    ],
)
def test_a_level_goes_by_name_or_by_its_old_number(text, want):
    for name, field in (("NCCL_P2P_LEVEL", "p2p"), ("NCCL_NET_GDR_LEVEL", "gdr")):
        assert getattr(read_levels({name: text}), field) == PathTypeLimit(type=want, source=f"{name}={text}")


@pytest.mark.parametrize("text", ["", "sys", "NET", "DIS", "far", "-1", " 3"])
def test_what_nccl_does_not_understand_it_ignores(text):
    assert read_levels({"NCCL_P2P_LEVEL": text}) == Levels()


def test_disabled_p2p_wins_over_its_level():
    both = {"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "SYS"}
    assert read_levels(both).p2p == PathTypeLimit(type="LOC", source="NCCL_P2P_DISABLE=1")
    assert read_levels({**both, "NCCL_P2P_DISABLE": "2"}).p2p == PathTypeLimit(type="SYS", source="NCCL_P2P_LEVEL=SYS")


@pytest.mark.parametrize(
    ("name", "value", "field", "want"),
    [
        ("NCCL_IGNORE_DISABLED_P2P", "2", "ignore_denied_p2p", 2),
        ("NCCL_NVB_DISABLE", "1", "nvb", False),
        ("NCCL_NET_GDR_READ", "0", "gdr_read", 0),
        ("NCCL_NET_GDR_C2C", "0", "gdr_c2c", False),
        ("NCCL_NET_DISABLE_INTRA", "1", "net_within_node", False),
        ("NCCL_PXN_DISABLE", "1", "pxn", False),
        ("NCCL_PXN_DISABLE", "2", "pxn", True),
        ("NCCL_PXN_C2C", "0", "pxn_c2c", False),
        ("NCCL_NETDEVS_POLICY", "auto", "nets_per_gpu", None),
        ("NCCL_NETDEVS_POLICY", "MAX:2", "nets_per_gpu", 2),
        ("NCCL_NETDEVS_POLICY", "MAX:0", "nets_per_gpu", None),
        ("NCCL_NETDEVS_POLICY", "some", "nets_per_gpu", None),
    ],
)
def test_switches(name, value, field, want):
    assert getattr(read_levels({name: value}), field) == want


def test_all_nics_of_a_gpu_are_more_than_any_machine_has():
    assert (read_levels({"NCCL_NETDEVS_POLICY": "ALL"}).nets_per_gpu or 0) > 576


def test_settings_in_force_are_told_and_ignored_ones_too():
    found = in_force({"NCCL_P2P_LEVEL": "far", "NCCL_PXN_DISABLE": "1", "NCCL_NET_GDR_READ": "", "HOME": "/"})
    assert found == ("NCCL_P2P_LEVEL=far is invalid: NCCL ignores it", "NCCL_PXN_DISABLE=1")


def test_settings_are_given_as_name_and_value():
    assert parse_settings(["NCCL_P2P_LEVEL=SYS", "NCCL_PXN_C2C=0"]) == {"NCCL_P2P_LEVEL": "SYS", "NCCL_PXN_C2C": "0"}


@pytest.mark.parametrize(
    "text", ["NCCL_P2P_LEVEL", "NCCL_DEBUG=INFO", "=1", "NCCL_P2P_LEVEL=far", "NCCL_NETDEVS_POLICY=2"]
)
def test_a_wrong_setting_is_refused_with_what_there_is(text):
    with pytest.raises(UsageError, match=r"NCCL_P2P_LEVEL|levels are"):
        parse_settings([text])


def test_every_setting_has_a_meaning_and_steers_something():
    changed = {
        name: {"NCCL_NETDEVS_POLICY": "ALL", "NCCL_PXN_C2C": "0", "NCCL_NET_GDR_C2C": "0"}.get(name, "1")
        for name in MEANING
    }
    assert all(read_levels({name: value}) != Levels() for name, value in changed.items())
