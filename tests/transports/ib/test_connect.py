# SPDX-License-Identifier: Apache-2.0
"""NCCL_IB_* on their way from the environment to a port and to the ends of a connection, on recorded native calls."""

from types import SimpleNamespace

import pytest

from railgauge.transports.ib import connect
from railgauge.transports.network import PeerNic

PORT = SimpleNamespace(device="mlx5_3", number=2, gid_index=5, link_layer="Ethernet")


class Calls:
    """In place of the native module: what each of its classes was made of."""

    def __init__(self):
        self.made = []

    def __getattr__(self, kind):
        def make(*args, **options):
            self.made.append((kind, args, options))
            return SimpleNamespace(kind=kind, args=args, options=options)

        return make


@pytest.fixture
def calls(monkeypatch):
    monkeypatch.setattr(connect, "native", Calls())
    for name in ("TC", "SL", "TIMEOUT", "RETRY_CNT", "PKEY", "QPS_PER_CONNECTION", "SPLIT_DATA_ON_QPS"):
        monkeypatch.delenv(f"NCCL_IB_{name}", raising=False)
    return connect.native


def ends(*, ports=(2, 2), queue_pairs=(1, 1)):
    """Rank 0's; its NIC 3 is to meet NIC 4 of rank 1."""
    nics = {
        (rank, number): PeerNic(number, its_ports, pairs, where, ["10.0.0.1"] * its_ports, ["Ethernet"] * its_ports)
        for (rank, number), its_ports, pairs, where in zip(
            ((0, 3), (1, 4)), ports, queue_pairs, ("here", "there"), strict=True
        )
    }
    devices = [SimpleNamespace(number=3, ports=[PORT, PORT])]
    network = SimpleNamespace(nic=lambda rank, number: nics[rank, number], devices=devices)
    return connect.IbEnds(network, 0, None, 1.0)


WIRE = SimpleNamespace(source=0, target=1, devices=(3, 4))


def test_a_port_is_opened_with_each_setting_in_its_place(calls, monkeypatch):
    values = {"TC": "106", "SL": "3", "TIMEOUT": "22", "RETRY_CNT": "5", "PKEY": "2"}
    for name, value in values.items():
        monkeypatch.setenv(f"NCCL_IB_{name}", value)
    ends().sender(WIRE)
    kind, args, options = next(one for one in calls.made if one[0] == "IbRail")
    assert (kind, args) == ("IbRail", ("mlx5_3", 2, 5))
    wanted = {"traffic_class": 106, "service_level": 3, "timeout": 22, "retry_count": 5, "pkey_index": 2}
    assert {name: options[name] for name in wanted} == wanted


@pytest.mark.parametrize(("link_layer", "threshold"), [("Ethernet", connect.OFF), ("InfiniBand", 8192)])
def test_adaptive_routing_is_by_the_ports_link_layer(calls, link_layer, threshold):
    port = SimpleNamespace(**{**vars(PORT), "link_layer": link_layer})
    connect.open_rail(port, connect.read_ib_connection({}))
    assert calls.made[-1][2]["adaptive_threshold"] == threshold


@pytest.mark.parametrize(("own", "other", "wanted"), [(1, 1, 1), (4, 2, 4), (2, 4, 4)])
def test_both_ends_have_the_more_queue_pairs_that_one_of_them_wants(calls, own, other, wanted):
    """ncclIbConnect: the larger of both numbers."""
    made = ends(queue_pairs=(own, other))
    assert made.sender(WIRE).args[-2] == wanted


@pytest.mark.parametrize(("setting", "split"), [(None, False), ("0", False), ("1", True)])
def test_messages_are_split_over_queue_pairs_where_the_setting_says_so(calls, monkeypatch, setting, split):
    if setting is not None:
        monkeypatch.setenv("NCCL_IB_SPLIT_DATA_ON_QPS", setting)
    assert ends().sender(WIRE).args[-1] is split


@pytest.mark.parametrize(("ports", "rails"), [((2, 2), 2), ((2, 1), 1)])
def test_an_end_uses_as_many_ports_as_both_nics_have(calls, ports, rails):
    sender = ends(ports=ports).sender(WIRE)
    assert sender.kind == "IbSender"
    assert len(sender.args[1]) == rails
    assert sender.args[2:4] == (1, "there")
