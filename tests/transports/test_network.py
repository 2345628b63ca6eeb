# SPDX-License-Identifier: Apache-2.0
"""All ranks take one network: NET/IB where each has a NIC for it, else NET/Socket, with whose reason."""

from dataclasses import replace

import pytest
from tests.transports.ranks import on_ranks

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports.ib import agreement as module
from railgauge.transports.ib.device import Found, IbDevice, IbPort
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS, PeerNic, choose_network
from railgauge.transports.peer import this_peer

PORTS = [IbPort(f"mlx5_{n}", 1, "Ethernet", 3, f"10.77.{n}.1") for n in range(2)]
ONE = Found(devices=(IbDevice(0, (PORTS[0],)),))
MERGED = Found(devices=(IbDevice(2, tuple(PORTS)),))
DOWN = Found(why_not="mlx5_0:1: port state is DOWN")
NONE = Found(why_not="no RDMA device", expected=False)


def chosen(monkeypatch, *found: Found, settings=None, same_host: bool = False, log=None, **facts):
    """What ranks of as many hosts agree on, each with what is found there."""
    settings = settings or {}

    def body(bootstrap):
        here = replace(this_peer(0), settings={}, **facts)
        hosts = [0 if same_host else rank for rank in range(len(found))]
        peers = [replace(here, rank=rank, host=f"host{h}", host_id=f"{h}") for rank, h in enumerate(hosts)]
        own = log if log and bootstrap.rank == 0 else NcclLog(bootstrap.rank, {})
        environ = {"NCCL_SOCKET_IFNAME": "lo", "rank": str(bootstrap.rank)} | settings
        try:
            return choose_network(bootstrap, peers, own, environ)
        except BaseException as error:
            bootstrap.fail(str(error))
            raise

    monkeypatch.setattr(module, "find_devices", lambda _reader, environ: found[int(environ["rank"])])
    return on_ranks(len(found), body)


def test_ranks_that_all_have_nics_use_them(monkeypatch):
    got = chosen(monkeypatch, ONE, MERGED, settings={"NCCL_IB_QPS_PER_CONNECTION": "4"})
    assert [one.name for one in got] == ["NET/IB"] * 2
    assert got[0].devices == ONE.devices
    assert got[0].nics == got[1].nics
    assert got[0].nics[1] == (
        PeerNic(2, 2, 4, "mlx5_0:1 (10.77.0.1) + mlx5_1:1 (10.77.1.1)", ["10.77.0.1", "10.77.1.1"], 2 * ["Ethernet"]),
    )
    assert got[0].why_not_ib is None


def test_a_nic_that_no_plan_names_is_the_first(monkeypatch):
    network = chosen(monkeypatch, ONE, MERGED)[0]
    assert [network.nic(rank, 0).number for rank in range(2)] == [0, 2]
    assert network.nic(1, 2).number == 2


def test_one_rank_without_takes_all_to_sockets_and_is_named(monkeypatch, capsys):
    got = chosen(monkeypatch, ONE, DOWN, ONE)
    why = "rank 1 on host1: mlx5_0:1: port state is DOWN"
    assert [(one.name, one.why_not_ib) for one in got] == [("NET/Socket", why)] * 3
    assert capsys.readouterr().err == f"railgauge: over NET/Socket, not NET/IB: {why}\n"


def test_ports_that_the_kernel_knows_no_way_between_take_all_to_sockets(monkeypatch):
    asked = []

    def unreached(port, addresses):
        asked.append((port.device, sorted(addresses)))
        return f"{port.device} has no way" if port.device == "mlx5_1" else None

    monkeypatch.setattr(module, "why_unreached", unreached)
    got = chosen(monkeypatch, ONE, MERGED)
    assert [one.why_not_ib for one in got] == ["rank 1 on host1: mlx5_1 has no way"] * 2
    assert sorted(asked) == [("mlx5_0", ["10.77.0.1"]), ("mlx5_0", ["10.77.0.1"]), ("mlx5_1", ["10.77.1.1"])]


def test_ports_of_one_rail_that_are_of_two_kinds_take_all_to_sockets(monkeypatch):
    infiniband = Found(devices=(IbDevice(0, (IbPort("mlx5_0", 1, "InfiniBand", -1, "LID 7"),)),))
    (why, _) = [one.why_not_ib for one in chosen(monkeypatch, ONE, infiniband)]
    assert why.startswith("rank 0 on host0: mlx5_0:1 is Ethernet, mlx5_0:1 (LID 7) of its rail InfiniBand: exclude")


def test_hosts_without_devices_are_nothing_to_speak_of(monkeypatch, capsys):
    assert chosen(monkeypatch, NONE, NONE)[0].why_not_ib == "rank 0 on host0: no RDMA device"
    assert capsys.readouterr().err == ""
    chosen(monkeypatch, ONE, NONE)
    assert "rank 1 on host1: no RDMA device" in capsys.readouterr().err


def test_a_network_that_was_asked_for_and_is_not_there_ends_the_run(monkeypatch):
    errors = chosen(monkeypatch, ONE, DOWN, settings={"NCCL_NET": "IB"})
    assert all(isinstance(error, UnavailableError) for error in errors)
    assert str(errors[0]) == "NCCL_NET=IB, but rank 1 on host1: mlx5_0:1: port state is DOWN"


def test_a_setting_that_no_queue_pair_has_ends_the_run(monkeypatch):
    errors = chosen(monkeypatch, ONE, ONE, settings={"NCCL_IB_TIMEOUT": "99"})
    assert any(isinstance(error, UsageError) and "out of range 0..31" in str(error) for error in errors)


def test_a_setting_of_gids_that_is_none_ends_the_run_even_where_sockets_would_do(monkeypatch):
    errors = chosen(monkeypatch, ONE, DOWN, settings={"NCCL_IB_ADDR_FAMILY": "ipv6"})
    assert any(isinstance(error, UsageError) and "AF_INET or AF_INET6" in str(error) for error in errors)


def test_a_setting_that_names_nothing_is_told_once(monkeypatch, capsys):
    remark = "NCCL_IB_HCA: 'mlx4' matches no port of this machine"
    chosen(monkeypatch, ONE, replace(ONE, remarks=(remark,)), replace(ONE, remarks=(remark,)))
    assert capsys.readouterr().err == f"railgauge: rank 1 on host1: {remark}\n"


def test_ranks_of_one_host_need_no_network(monkeypatch):
    assert chosen(monkeypatch, ONE, ONE, same_host=True) == [SOCKETS] * 2


def test_what_no_plan_names_keeps_to_the_senders_rail(monkeypatch):
    two = Found(devices=tuple(IbDevice(number, (port,)) for number, port in zip((3, 5), PORTS, strict=True)))
    network = chosen(monkeypatch, two, two, ONE)[0]
    assert [network.on_rail(0, number, 1) for number in (3, 5)] == [(3, 3), (5, 5)]
    assert network.on_rail(0, 5, 2) == (5, 0)
    assert SOCKETS.on_rail(0, 1, 1) == (0, 0)


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        ((ONE, ONE), ["NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB lo:127.0.0.1<0>", "Using network IB"]),
        (
            (DOWN, ONE),
            ["NET/IB : No device found.", "NET/IB : not used: rank 0 on host0: mlx5", "Using network Socket"],
        ),
    ],
)
def test_nccls_lines(monkeypatch, tmp_path, found, lines):
    path = tmp_path / "log"
    chosen(monkeypatch, *found, log=NcclLog(0, {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(path)}))
    text = path.read_text()
    assert all(line in text for line in lines)
