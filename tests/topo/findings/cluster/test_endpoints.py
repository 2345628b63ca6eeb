# SPDX-License-Identifier: Apache-2.0
"""By which interfaces nodes would be connected, and which of them the plan joins."""

from dataclasses import replace

from tests.topo.findings.cluster import fleets
from tests.topo.findings.node.cases import case

from railgauge.topo.findings.cluster.endpoints import Endpoint, endpoints
from railgauge.topo.findings.cluster.examination import Examined, Individual
from railgauge.topo.findings.cluster.planned import Planned, crossings, planned

ETH0 = {"name": "eth0", "index": 2, "flags": 0x1043, "addresses": ["10.0.0.5", "fd00::5"], "prefix": 24}
ETH1 = {"name": "eth1", "index": 3, "flags": 0x1043, "addresses": ["fe80::1"], "prefix": None}
LO = {"name": "lo", "index": 1, "flags": 0x49, "addresses": ["127.0.0.1"], "prefix": 8}
STRICT = {"/proc/sys/net/ipv4/conf/all/rp_filter": "0", "/proc/sys/net/ipv4/conf/eth0/rp_filter": "1"}


def interfaces(*told):
    return {"interfaces": {"interfaces": list(told)}}


def test_without_rdma_all_interfaces_of_sockets_are_reached():
    found = endpoints(case("laptop", files=STRICT, facts=interfaces(LO, ETH0, ETH1)))
    assert found == (
        Endpoint(interface="eth0", address="10.0.0.5", uses=("NET/Socket/0",), strict=True),
        Endpoint(interface="eth1", address="fe80::1%eth1", uses=("NET/Socket/1",)),
    )
    chosen = case("laptop", facts=interfaces(LO, ETH0, ETH1), settings={"NCCL_SOCKET_IFNAME": "=eth1"})
    assert [one.interface for one in endpoints(chosen)] == ["eth1"]
    assert endpoints(case("laptop", facts=interfaces(LO))) == ()


def test_with_roce_the_first_interface_and_those_of_its_ports_are_reached():
    one = case("hgx-h100-8nic")
    netdevs = [port.rdma_port.netdev for port in one.rdma_ports]
    rails = [
        {"name": name, "index": 10 + place, "flags": 0x1043, "addresses": [f"10.1.{place}.5"], "prefix": 24}
        for place, name in enumerate(netdevs)
    ]
    found = endpoints(case("hgx-h100-8nic", facts=interfaces(LO, ETH0, ETH1, *rails)))
    assert {end.interface: end.uses for end in found} == {"eth0": ("NET/Socket/0",)} | {
        name: (f"NET/IB/{place}",) for place, name in enumerate(netdevs)
    }


def node(name, *uses, crosses=False):
    ends = tuple(Endpoint(interface=use, address=use, uses=(use,)) for use in uses)
    return Examined(
        name=name, fingerprint="", shared=(), own=(), individual=Individual(endpoints=ends, crosses_nics=crosses)
    )


def test_the_plan_of_equal_nodes_stays_on_its_rails_and_counts_its_channels(tmp_path):
    fleets.write(tmp_path, "gpu1", fleets.usual())
    plan = planned([node("gpu1")], {"gpu1": str(tmp_path / "gpu1.tar.gz")})
    assert plan.channels
    assert all(0 < count <= plan.channels for count in plan.rails.values())
    assert crossings([node("gpu1")], plan) == frozenset(pair for pair in plan.rails if pair[0] != pair[1])


def test_without_gpus_nothing_is_planned_and_a_setting_crosses_all(tmp_path):
    laptop = replace(fleets.usual("laptop"), facts={})
    fleets.write(tmp_path, "n1", laptop)
    plan = planned([node("n1")], {"n1": str(tmp_path / "n1.tar.gz")})
    assert plan == Planned()
    assert not crossings([node("n1", "NET/Socket/0", "NET/Socket/1")], plan)
    every = crossings([node("n1", "NET/Socket/0", "NET/IB/0", "NET/IB/1", crosses=True)], plan)
    assert every == {("NET/IB/0", "NET/IB/1"), ("NET/IB/1", "NET/IB/0")}
