# SPDX-License-Identifier: Apache-2.0
"""NCCL_IB_HCA: which ports it takes, and which of its entries name nothing or too much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.nccl.settings.hca import hca_remarks, matched, parse_hca, plugin_off

PORTS = (*((f"mlx5_{number}", 1) for number in (0, 1, 2, 10, 11)), ("mlx5_1", 2))


def taken(setting: str | None) -> list[str]:
    hca = parse_hca(setting)
    return [f"{name}:{port}" for name, port in PORTS if hca.takes(name, port)]


EVERYTHING = [f"{name}:{port}" for name, port in PORTS]


@pytest.mark.parametrize(
    ("setting", "want"),
    [
        (None, EVERYTHING),
        ("", EVERYTHING),
        ("mlx5", EVERYTHING),
        ("mlx5_1", ["mlx5_1:1", "mlx5_10:1", "mlx5_11:1", "mlx5_1:2"]),
        ("=mlx5_1", ["mlx5_1:1", "mlx5_1:2"]),
        ("=mlx5_1:2", ["mlx5_1:2"]),
        ("mlx5_1:2", ["mlx5_1:2"]),
        ("=mlx5_0,mlx5_2", ["mlx5_0:1", "mlx5_2:1"]),
        ("^mlx5_1", ["mlx5_0:1", "mlx5_2:1"]),
        ("^=mlx5_1", ["mlx5_0:1", "mlx5_2:1", "mlx5_10:1", "mlx5_11:1"]),
        ("^=mlx5_1:2", [port for port in EVERYTHING if port != "mlx5_1:2"]),
        ("=^mlx5_1", []),  # a name that begins with ^
        ("mlx5_0,^mlx5_1", ["mlx5_0:1"]),
        ("mlx5_0,=mlx5_1", ["mlx5_0:1"]),
        ("^", []),  # no entry names every port, and ^ leaves those out
        ("=", EVERYTHING),
        (",,mlx5_0,,", ["mlx5_0:1"]),
        (":1", EVERYTHING),  # an entry without a name is none
        ("mlx5_0:", ["mlx5_0:1"]),
        ("mlx5_0:-1", ["mlx5_0:1"]),
        ("mlx5_0:x", []),  # atoi makes it port 0
        ("mlx5_0:1x", ["mlx5_0:1"]),
        ("mlx5_0:1:3:2", ["mlx5_0:1"]),
        (" mlx5_0", []),
    ],
)
def test_which_ports_a_setting_takes(setting, want):
    assert taken(setting) == want


@pytest.mark.parametrize(
    ("entry", "want"),
    [
        ("mlx5_0", (None, None, None)),
        ("mlx5_0:1", (1, None, None)),
        ("mlx5_0:1:3", (1, 3, None)),
        ("mlx5_0:1:3:2", (1, 3, 2)),
        ("mlx5_0::3", (None, 3, None)),
        ("mlx5_0:1::2", (1, None, 2)),
        ("mlx5_0:1:3:2:9", (1, 3, 2)),
    ],
)
def test_rail_and_plane(entry, want):
    (found,) = parse_hca(entry).entries
    assert (found.port, found.rail, found.plane) == want


def test_entries_that_name_nothing_or_too_much_are_told():
    remarks = hca_remarks(parse_hca("mlx5_1,mlx5_7,mlx5_2"), PORTS)
    assert len(remarks) == 2
    assert "'mlx5_1' is a prefix and matches mlx5_1, mlx5_10, mlx5_11" in remarks[0]
    assert "'mlx5_7' matches no port" in remarks[1]


def test_a_prefix_on_purpose_is_no_remark():
    assert hca_remarks(parse_hca("mlx5"), PORTS) == ()


def test_what_each_entry_names():
    answers = {entry.text: ports for entry, ports in matched(parse_hca("=mlx5_1,mlx5_9"), PORTS)}
    assert answers == {"mlx5_1": (("mlx5_1", 1), ("mlx5_1", 2)), "mlx5_9": ()}


@pytest.mark.parametrize(
    ("environment", "want"),
    [
        ({}, None),
        ({"NCCL_IB_DISABLE": "0"}, None),
        ({"NCCL_IB_DISABLE": ""}, None),
        ({"NCCL_IB_DISABLE": "no"}, None),
        ({"NCCL_IB_DISABLE": "1"}, "NCCL_IB_DISABLE=1"),
        ({"NCCL_NET": "IB"}, None),
        ({"NCCL_NET": "ib"}, None),
        ({"NCCL_NET": "Socket"}, "NCCL_NET=Socket"),
    ],
)
def test_settings_that_switch_the_plugin_off(environment, want):
    assert plugin_off(environment) == want


@given(st.text(alphabet="^=,:mlx5_01-", max_size=24))
def test_any_setting_is_understood_and_excluding_is_the_opposite(setting):
    plain = parse_hca(setting.lstrip("^"))
    opposite = parse_hca("^" + setting.lstrip("^"))
    assert all(plain.takes(*port) != opposite.takes(*port) for port in PORTS)
