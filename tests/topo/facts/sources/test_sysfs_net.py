# SPDX-License-Identifier: Apache-2.0
"""Network interfaces: which count, in what order, and sandboxes that forbid asking."""

import socket

import pytest

from railgauge.fixtures.synthetic import SyntheticMachine
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.interfaces import live_interfaces
from railgauge.topo.facts.sources.sysfs_net import addressed
from railgauge.topo.nccl.detect.scan import scan


def reader(*entries: dict[str, object]) -> LiveReader:
    return LiveReader("/nonexistent", {"interfaces": lambda: {"interfaces": list(entries)}})


def entry(name: str, *addresses: str, flags: int | None = 0x1043) -> dict[str, object]:
    return {"name": name, "index": 1, "addresses": list(addresses), "flags": flags}


def test_an_interface_without_carrier_is_passed_over():
    up = entry("eth0", "192.0.2.1", flags=0x1003)
    assert addressed(reader(up, entry("eth1", "192.0.2.2"))) == ("eth1",)


def test_without_recorded_flags_all_with_an_address_count():
    old = {"name": "eth0", "index": 1, "addresses": ["192.0.2.1"]}
    assert addressed(reader(old, entry("eth1", "192.0.2.2", flags=None), entry("eth2"))) == ("eth0", "eth1")


def test_ipv4_comes_before_ipv6():
    entries = entry("eth0", "2001:db8::1"), entry("eth1", "192.0.2.1"), entry("eth2", "2001:db8::2", "192.0.2.2")
    assert addressed(reader(*entries)) == ("eth1", "eth2", "eth0")


def test_the_loopback_address_of_ipv6_does_not_count():
    assert addressed(reader(entry("lo", "::1"))) == ()


def test_the_live_answer_has_flags():
    lo = next(one for one in live_interfaces()["interfaces"] if one["name"] == "lo")
    assert lo["flags"] & 0x8  # IFF_LOOPBACK


@pytest.mark.parametrize("call", ["if_nameindex", "socket"])
def test_a_sandbox_costs_a_warning(tmp_path, monkeypatch, call):
    def forbidden(*arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, call, forbidden)
    made = SyntheticMachine(tmp_path)
    made.nic("eth0")
    result = scan(LiveReader(str(tmp_path), {"interfaces": live_interfaces}), {})
    assert [e.get("name") for e in result.topology.root.walk() if e.name == "net"] == ["eth0"]
    assert any("Operation not permitted" in warning for warning in result.warnings)
