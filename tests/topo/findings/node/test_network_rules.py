# SPDX-License-Identifier: Apache-2.0
"""Rules about the network and RDMA: each fires on its fault, is silent without it, and says so where it cannot see."""

import pytest
from tests.topo.findings.node.cases import IB, NET, case, subjects, worst

ROCE, MIXED = "hgx-h100-8nic", "dgx-h100"
PORT = f"{IB}/mlx5_0/ports/1"
ETH0 = {"name": "eth0", "index": 2, "flags": 0x1043, "addresses": ["10.0.0.5"], "prefix": 24}
DOCKER0 = {"name": "docker0", "index": 3, "flags": 0x1043, "addresses": ["172.17.0.1"], "prefix": 16}
BRIDGE = {"name": "br-4f1d", "index": 1, "flags": 0x1043, "addresses": ["172.18.0.1"], "prefix": 16}
LO = {"name": "lo", "index": 1, "flags": 0x49, "addresses": ["127.0.0.1"], "prefix": 8}
NO_TABLE = {f"{PORT}/gids": None, f"{PORT}/gid_attrs": None}
LISTED = {"/dev/null": ""}
NODES = LISTED | {f"/dev/infiniband/uverbs{n}": "" for n in range(9)}


def addresses(*interfaces):
    return {"interfaces": {"interfaces": list(interfaces)}}


@pytest.mark.parametrize(
    ("found", "settings", "level"),
    [
        ((LO, ETH0, DOCKER0), {}, "PASS"),
        ((BRIDGE, ETH0), {}, "FAIL"),
        ((LO, ETH0), {"NCCL_SOCKET_IFNAME": "^docker0"}, "FAIL"),
        ((LO, ETH0), {"NCCL_SOCKET_IFNAME": "lo"}, "FAIL"),
        ((LO, DOCKER0), {}, "INFO"),
        ((LO,), {}, "INFO"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_interface_that_leads_nowhere_is_told(found, settings, level):
    assert worst("socket-ifname-virtual", case("laptop", facts=addresses(*found), settings=settings)) == level


def test_without_addresses_nothing_is_said_of_interfaces():
    blind = case("laptop", facts={"interfaces": {"error": "forbidden"}}, settings={"NCCL_SOCKET_IFNAME": "eth0"})
    assert worst("socket-ifname-virtual", blind) == worst("socket-ifname-nomatch", blind) == "UNKNOWN"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("eth", [("PASS", "node")]),
        ("=eth", [("FAIL", "NCCL_SOCKET_IFNAME")]),
        ("bond0", [("FAIL", "NCCL_SOCKET_IFNAME")]),
        ("eth0,bond0", [("INFO", "bond0")]),
        ("=eth,eth0", [("INFO", "eth")]),
        ("e", [("PASS", "node")]),
        ("", [("PASS", "node")]),
    ],
)
def test_a_list_of_interfaces_that_takes_none(value, found):
    one = case("laptop", facts=addresses(LO, ETH0), settings={"NCCL_SOCKET_IFNAME": value})
    assert subjects("socket-ifname-nomatch", one) == found


@pytest.mark.parametrize(
    ("value", "prefix", "nomatch"),
    [
        ("mlx5_1", "WARN", "PASS"),
        ("^mlx5_1", "WARN", "PASS"),
        ("=mlx5_1", "PASS", "PASS"),
        ("mlx5", "PASS", "PASS"),
        ("mlx5_0,mlx5_77", "PASS", "WARN"),
        ("^mlx5_77", "PASS", "INFO"),
        ("rocep1s0", "PASS", "FAIL"),
        ("=^mlx5_1", "PASS", "FAIL"),
    ],
)
def test_a_list_of_devices_that_takes_more_or_less_than_meant(value, prefix, nomatch):
    one = case(MIXED, settings={"NCCL_IB_HCA": value})
    assert (worst("ib-hca-prefix", one), worst("ib-hca-nomatch", one)) == (prefix, nomatch)


def test_a_list_of_devices_on_a_machine_without_any():
    assert worst("ib-hca-nomatch", case("laptop", settings={"NCCL_IB_HCA": "mlx5"})) == "INFO"
    assert worst("ib-hca-nomatch", case("consumer-2x5090", settings={"NCCL_IB_HCA": "mlx5"})) == "WARN"


@pytest.mark.parametrize("rule", ["ib-hca-prefix", "ib-hca-nomatch", "gid-index-invalid", "socket-ifname-nomatch"])
def test_settings_that_nobody_recorded_are_unknown(rule):
    assert worst(rule, case(MIXED)) == "UNKNOWN"


@pytest.mark.parametrize(
    ("index", "files", "level"),
    [
        ("3", {}, "PASS"),
        ("-1", {}, "PASS"),
        ("2", {}, "WARN"),
        ("1", {}, "WARN"),
        ("9", {}, "FAIL"),
        ("3", {f"{PORT}/gids/3": "0000:0000:0000:0000:0000:0000:0000:0000"}, "FAIL"),
        ("3", NO_TABLE, "UNKNOWN"),
    ],
)
def test_an_index_of_a_gid_that_cannot_work(index, files, level):
    assert worst("gid-index-invalid", case(ROCE, files=files, settings={"NCCL_IB_GID_INDEX": index})) == level


def test_holes_in_a_gid_table():
    assert subjects("gid-table-holes", case("hgx-h100-gid-holes")) == [("WARN", "mlx5_0:1")]
    assert worst("gid-table-holes", case(ROCE)) == "PASS"
    assert worst("gid-table-holes", case(ROCE, files=NO_TABLE)) == "UNKNOWN"
    assert worst("gid-table-holes", case("laptop")) is None


def test_holes_that_all_ports_have_leave_one_index_right_for_all():
    mapped, unused = "0000:0000:0000:0000:0000:ffff:0a00:00{:02x}", "0000:" * 7 + "0000"
    files = {}
    for number in range(8):
        port = f"{IB}/mlx5_{number}/ports/1"
        files |= {f"{port}/gids/{index}": unused for index in range(8)}
        files |= {f"{port}/gid_attrs/types/{index}": None for index in range(8)}
        files |= {f"{port}/gids/5": mapped.format(number + 1), f"{port}/gid_attrs/types/5": "RoCE v2"}
    found = subjects("gid-table-holes", case(ROCE, files=files))
    assert found == [("INFO", f"mlx5_{number}:1") for number in range(8)]
    other = {f"{PORT}/gids/5": unused, f"{PORT}/gid_attrs/types/5": None}
    other |= {f"{PORT}/gids/6": mapped.format(1), f"{PORT}/gid_attrs/types/6": "RoCE v2"}
    levels = dict(map(reversed, subjects("gid-table-holes", case(ROCE, files=files | other))))
    assert levels == {f"mlx5_{number}:1": "INFO" if number else "WARN" for number in range(8)}


@pytest.mark.parametrize("first", [1, 4, 5])
def test_rails_are_as_fast_as_the_fastest_of_them(first):
    slow = {f"{IB}/mlx5_{number}/ports/1/rate": "200 Gb/sec (4X HDR)" for number in range(first, 8)}
    assert subjects("ib-rate-low", case(ROCE, files=slow)) == [("WARN", f"mlx5_{n}:1") for n in range(first, 8)]


def test_away_from_gpus_a_rate_that_half_of_the_ports_have_is_not_usual():
    other = {f"{IB}/mlx5_1/ports/1/rate": "50 Gb/sec (4X)"}
    assert worst("ib-rate-low", case("pcie-no-switch", files=other)) == "PASS"


def test_gpus_without_gpudirect_rdma_lack_nothing():
    cuda = {"gpu_direct_rdma": {f"00000000:{bus}:00.0": 0 for bus in ("07", "0F", "47", "4E", "87", "90", "B7", "BD")}}
    assert worst("peermem-missing", case("dgx-a100-no-peermem", facts={"cuda": cuda})) is None


def test_peer_memory_and_dma_buf():
    lost = case("dgx-a100-no-peermem")
    assert worst("peermem-missing", lost) == worst("dmabuf-unsupported", lost) == "FAIL"
    assert worst("peermem-missing", case("dgx-a100")) == "PASS"
    assert worst("peermem-missing", case(ROCE)) == "INFO"
    assert worst("dmabuf-unsupported", case(ROCE)) == "PASS"
    blind = case("dgx-a100-no-peermem", facts={"cuda": None}, files={"/proc/driver/nvidia/version": None})
    assert worst("peermem-missing", blind) == worst("dmabuf-unsupported", blind) == "UNKNOWN"
    assert worst("peermem-missing", case("intel-2s")) is None


def test_no_module_is_missed_where_no_nic_is_near_enough():
    files = {"/sys/module/nvidia_peermem": None, "/sys/kernel/mm/memory_peers": None}
    driver = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024"
    without = {"files": files | {"/proc/driver/nvidia/version": driver}, "facts": {"cuda.dma_buf": None, "verbs": None}}
    assert worst("peermem-missing", case(MIXED, **without)) == "FAIL"
    far = case("pcie-no-switch", **without)
    assert worst("peermem-missing", far) == worst("dmabuf-unsupported", far) == "INFO"


@pytest.mark.parametrize(("chosen", "level"), [("=mlx5_0", "FAIL"), ("=mlx5_4,mlx5_5", "INFO")])
def test_no_module_is_missed_where_only_nics_are_near_that_nccl_does_not_use(chosen, level):
    one = case("dgx-a100-no-peermem", settings={"NCCL_IB_HCA": chosen})
    assert worst("peermem-missing", one) == worst("dmabuf-unsupported", one) == level


@pytest.mark.parametrize(
    ("files", "facts", "missing", "provider"),
    [
        ({}, {}, "PASS", "PASS"),
        (LISTED, {"verbs": None}, "FAIL", "UNKNOWN"),
        (NODES, {"verbs": None}, "PASS", "UNKNOWN"),
        ({}, {"verbs": {"devices": [{"name": "mlx5_0", "error": "Operation not permitted"}]}}, "FAIL", "FAIL"),
        (LISTED, {"verbs": {"devices": []}}, "FAIL", "UNKNOWN"),
        (NODES, {"verbs": {"devices": []}}, "PASS", "FAIL"),
        ({}, {"verbs": {"devices": [{"name": f"mlx5_{n}"} for n in range(7)]}}, "UNKNOWN", "WARN"),
        (LISTED, {"verbs": {"devices": [{"name": "mlx5_0"}]}}, "INFO", "PASS"),
        ({}, {"verbs": None}, "UNKNOWN", "UNKNOWN"),
        ({}, {"verbs": {"error": "libibverbs.so.1: cannot open shared object file"}}, "UNKNOWN", "FAIL"),
        ({}, {"verbs": {"error": "verbs did not answer within 20 s"}}, "UNKNOWN", "UNKNOWN"),
    ],
)
def test_devices_that_libibverbs_cannot_use(files, facts, missing, provider):
    one = case(ROCE, files=files, facts=facts)
    assert (worst("verbs-device-missing", one), worst("verbs-provider-missing", one)) == (missing, provider)


MODULES = "/sys/module/kernel/parameters/panic"


@pytest.mark.parametrize(
    ("files", "level"),
    [
        ({}, "UNKNOWN"),
        ({MODULES: "0"}, "PASS"),
        ({MODULES: "0", "/sys/module/nf_tables/refcnt": "9"}, "UNKNOWN"),
        ({MODULES: "0", "/sys/module/nf_tables/refcnt": "9", "/etc/ufw/ufw.conf": "# x\nENABLED=yes"}, "INFO"),
        ({MODULES: "0", "/proc/sys/net/ipv4/ip_local_port_range": "50000\t50099"}, "WARN"),
        ({MODULES: "0", "/proc/sys/net/ipv4/ip_local_port_range": "32768\t60999"}, "PASS"),
    ],
)
def test_what_is_seen_of_a_firewall(files, level):
    assert worst("ports-blocked", case("laptop", files=files)) == level


CONF = "/proc/sys/net/ipv4/conf"


@pytest.mark.parametrize(
    ("networks", "filters", "level"),
    [
        (("10.0.0.5/24", "10.0.0.6/24"), ("0", "1"), "WARN"),
        (("10.0.0.5/24", "10.0.0.6/24"), ("1", "0"), "WARN"),
        (("10.0.0.5/24", "10.0.0.6/24"), ("2", "1"), "PASS"),
        (("10.0.0.5/24", "10.0.1.6/24"), ("1", "1"), "PASS"),
        (("10.0.0.5/16", "10.0.1.6/16"), ("1", "1"), "WARN"),
        (("10.0.0.5/24", "10.0.0.6/24"), ("", ""), "UNKNOWN"),
        (("10.0.0.5/0", "10.0.0.6/0"), ("0", "1"), "UNKNOWN"),
    ],
)
def test_strict_filters_between_interfaces_of_one_network(networks, filters, level):
    names = ("eth0", "eth1")
    told = [
        ETH0 | {"name": name, "addresses": [text.partition("/")[0]], "prefix": int(text.partition("/")[2]) or None}
        for name, text in zip(names, networks, strict=True)
    ]
    shared, own = filters
    files = {f"{CONF}/all/rp_filter": shared, **{f"{CONF}/{name}/rp_filter": own for name in names}} if shared else {}
    files |= {f"{NET}/{name}/mtu": "1500" for name in names}
    assert worst("rp-filter-strict", case("laptop", facts=addresses(*told), files=files)) == level


LOCAL = {f"{PORT}/gids/{index}": None for index in (2, 3)}


def test_a_rail_without_an_address():
    assert subjects("rail-unreachable", case(ROCE, files=LOCAL)) == [("WARN", "mlx5_0:1")]
    assert worst("rail-unreachable", case(ROCE)) == "PASS"
    assert worst("rail-unreachable", case(ROCE, files=NO_TABLE)) == "UNKNOWN"


def test_a_port_that_is_slower_than_its_kin():
    slow = case(MIXED, files={f"{PORT}/rate": "100 Gb/sec (1X NDR)"})
    assert subjects("ib-rate-low", slow) == [("WARN", "mlx5_0:1")]
    assert worst("ib-rate-low", case(MIXED)) == "PASS"
    assert subjects("ib-rate-low", case(MIXED, files={f"{PORT}/rate": None})) == [("UNKNOWN", "mlx5_0:1")]


def test_mtus_that_do_not_go_together():
    devices = [{"name": f"mlx5_{n}", "ports": [{"number": 1, "active_mtu": 5}]} for n in range(8)]
    jumbo = {f"{NET}/gpu{n}rail/mtu": "9000" for n in range(8)}
    good = {"verbs": {"devices": devices}}
    bad = {"verbs": {"devices": [{"name": "mlx5_0", "ports": [{"number": 1, "active_mtu": 3}]}, *devices[1:]]}}
    assert worst("mtu-mismatch", case(ROCE, files=jumbo, facts=good)) == "PASS"
    assert set(subjects("mtu-mismatch", case(ROCE, files=jumbo, facts=bad))) == {
        ("WARN", "mlx5_0:1"),
        ("WARN", "mlx5_0"),
    }
    small = jumbo | {f"{NET}/gpu0rail/mtu": "1500"}
    assert ("WARN", "mlx5_0") in subjects("mtu-mismatch", case(ROCE, files=small, facts=bad))
    assert worst("mtu-mismatch", case(ROCE, facts={"verbs": None})) == "UNKNOWN"


def test_counters_of_errors_are_told_once_and_as_faults_only_when_they_rise():
    path = f"{PORT}/counters/symbol_error"
    assert worst("ib-errors-rising", case(MIXED)) == "UNKNOWN"
    files = {f"{IB}/mlx5_{n}/ports/1/counters/symbol_error": "0" for n in range(12)}
    assert worst("ib-errors-rising", case(MIXED, files=files)) == "PASS"
    seen = case(MIXED, files=files | {path: "7"})
    assert subjects("ib-errors-rising", seen) == [("INFO", "mlx5_0:1")]
    ports = [{"device": f"mlx5_{n}", "port": 1, "counts": {"symbol_error": 0 if n else 9}} for n in range(12)]
    seen = case(MIXED, files=files | {path: "7"}, facts={"port_errors_later": {"ports": ports}})
    assert subjects("ib-errors-rising", seen) == [("INFO", "mlx5_0:1")]
    assert subjects("ib-errors-rising", seen, cost=2) == [("WARN", "mlx5_0:1")]


def test_rdma_in_software():
    assert subjects("soft-rdma-present", case("odd-nics")) == [("INFO", "rxe0")]
    assert worst("soft-rdma-present", case(MIXED)) == "PASS"
    assert worst("soft-rdma-present", case("laptop")) is None


DOWN = {"state": "1: DOWN", "phys_state": "2: Polling"}


def down(*names):
    return {f"{IB}/{name}/ports/1/{key}": text for name in names for key, text in DOWN.items()}


@pytest.mark.parametrize(
    ("files", "settings", "found"),
    [
        (down("mlx5_0"), {}, [("FAIL", "mlx5_0:1")]),
        (down("mlx5_0"), {"NCCL_IB_HCA": "^mlx5_0"}, [("INFO", "mlx5_0:1")]),
        (down("mlx5_0"), {"NCCL_IB_DISABLE": "1"}, [("INFO", "mlx5_0:1")]),
        (down("mlx5_1", "mlx5_2", "mlx5_7", "mlx5_8"), {}, [("INFO", f"mlx5_{n}:1") for n in (1, 2, 7, 8)]),
        ({f"{PORT}/state": None}, {}, [("UNKNOWN", "mlx5_0:1")]),
        ({}, {}, [("PASS", "node")]),
    ],
)
def test_a_port_that_is_down_counts_where_it_is_meant_to_be_used(files, settings, found):
    assert subjects("ib-port-down", case(MIXED, files=files, settings=settings)) == found


def test_all_ports_down_is_a_failure_where_they_are_infiniband():
    everything = down(*(f"mlx5_{n}" for n in range(12)))
    found = {subject: level for level, subject in subjects("ib-port-down", case(MIXED, files=everything))}
    assert (found["mlx5_0:1"], found["mlx5_1:1"]) == ("FAIL", "INFO")
