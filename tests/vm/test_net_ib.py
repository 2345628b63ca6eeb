# SPDX-License-Identifier: Apache-2.0
"""`railgauge run` and `link` over NET/IB between two guests with Soft-RoCE on two rails: what went by which device,
what settings show on the wire and in queue pairs, what it says where RDMA does not work, how runs end that lose it.
"""

import json

import pytest

from railgauge.collectives.operation import NUMBERS

pytestmark = pytest.mark.vm
FAILED = 4


def vias(document):
    return {connection["via"] for connection in document["connections"] if connection["bytes_sent"]}


def right(rails, name):
    """Rank 0's document of a run whose data was right on all ranks."""
    document = json.loads(rails[0].out(name))
    assert rails[1].status(name) == 0, rails[1].err(name)
    timings = [row[way] for row in document["rows"] for way in ("out_of_place", "in_place")]
    assert len(timings) >= 4
    assert {timing["wrong"] for timing in timings} == {0}
    return document


def test_both_ports_are_one_nic(rails):
    assert vias(right(rails, "merged")) == {"NET/IB/2"}
    for answers in rails:
        said = answers.err("merged")
        assert "NET/IB : Using [2]rxe0:1/RoCE+rxe1:1/RoCE [RO]; OOB rail1:10.77.1." in said
        assert "Using network IB" in said
    assert "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/2" in rails[0].err("merged")
    assert "Channel 00/0 : 0[0] -> 1[1] [receive] via NET/IB/2" in rails[1].err("merged")
    assert "Connected all rings" in rails[0].err("merged")


def test_rails_are_nics_of_their_own_where_they_are_not_merged(rails):
    assert vias(right(rails, "rails")) <= {"NET/IB/0", "NET/IB/1"}
    assert "NET/IB : Using [0]rxe0:1/RoCE [1]rxe1:1/RoCE [RO]" in rails[0].err("rails")


def test_counters_that_a_device_lacks_are_unknown(rails):
    """Soft-RoCE counts packets, not bytes."""
    links = right(rails, "rails")["counters"]["links"]
    ports = [(link["level"], link["seen_bytes"]) for link in links if link["kind"] == "rdma_port"]
    assert ports == [("UNKNOWN", None)] * len(ports)
    assert len(ports) >= 4  # on both guests, both ways
    assert "UNKNOWN traffic-elsewhere: rxe" in rails[0].err("rails")


def test_every_collective_is_right(rails):
    for answers in rails:
        document = json.loads(answers.out("collectives"))
        assert document["wrong"] == dict.fromkeys(NUMBERS, 0)
        assert document["vias"] == ["NET/IB/0"]


def test_settings_show_in_queue_pairs(rails):
    for answers in rails:
        attributes = json.loads(answers.out("collectives"))["attributes"]
        for name, value in {"timeout": 16, "retry_count": 6, "traffic_class": 104, "gid_index": 1}.items():
            assert {one[name] for one in attributes} == {value}, name
        ends = len(attributes) // 2
        assert ends >= 2
        assert len({one["qpn"] for one in attributes}) == 2 * ends  # two for each end


@pytest.mark.parametrize(("name", "index"), [("by_range", 2), ("by_family", 0), ("by_index", 2)])
def test_settings_choose_the_gid_of_queue_pairs(rails, name, index):
    """Of 0, link-local; 1, the first IPv4 address; 2, the second."""
    for answers in rails:
        assert answers.status(name) == 0, answers.err(name)
        document = json.loads(answers.out(name))
        assert (document["wrong"], document["vias"]) == ({"all_reduce": 0}, ["NET/IB/0"])
        assert {one["gid_index"] for one in document["attributes"]} == {index}


def test_the_traffic_class_shows_on_the_wire(rails):
    for answers in rails:
        assert "104" in (answers.folder / "traffic_classes").read_text().split()


def test_links_between_nodes_are_measured_by_device(rails):
    """Ranks that `cluster link` has started by ssh; what is predicted is RDMA's, which Soft-RoCE does not come near."""
    document = json.loads(rails[0].out("cluster_link", status=1))
    found = [(link["from"], link["to"], link["transport"], link["via"], link["wrong"]) for link in document["links"]]
    assert found == [(*pair, "NET/IB", f"NET/IB/{rail}", 0) for rail in range(2) for pair in ((0, 1), (1, 0))]
    for link in document["links"]:
        assert 0 < link["gb_per_s"] < link["predicted_gb_per_s"]
        assert link["latency_us"] > link["predicted_latency_us"] > 2
    assert {(one["id"], one["level"]) for one in document["findings"]} >= {("slow-link", "FAIL")}


def test_lost_packets_are_sent_again(rails):
    assert vias(right(rails, "loss")) == {"NET/IB/0"}


def test_the_list_has_it(rails):
    document = json.loads(rails[1].out("list"))
    (ib,) = [one for one in document["transports"] if one["transport"] == "NET/IB"]
    assert ib["why_not"] is None
    assert ib["by"] == ["NET/IB/2 over rxe0:1 (10.77.0.2) + rxe1:1 (10.77.1.2)"]


def test_without_device_nodes_the_list_says_what_is_missing(rails):
    document = json.loads(rails[1].out("without_nodes"))
    (ib,) = [one for one in document["transports"] if one["transport"] == "NET/IB"]
    assert "/dev/infiniband" in ib["why_not"]


def test_ranks_of_one_guest_that_share_no_memory_go_through_its_device(rails):
    document = json.loads(rails[0].out("alone0"))
    assert vias(document) == {"NET/IB/0"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("one_without", "rank 1 on guest1: rxe0:1: NCCL_IB_HCA=mlx5 excludes it; rxe1:1: "),
        ("other_network", "rank 0 on guest0: rxe0:1 (10.90.0.1) has no route to 10.91.0.1 through rail0: "),
        ("default_route", "rank 0 on guest0: rxe0:1 (10.90.0.1) has no route to 10.91.0.1 through rail0: "),
        ("other_gid", "rank 0 on guest0: rxe0:1 (10.90.0.1) has no route to 10.91.0.1 through rail0: "),
        ("little_memory", "rank 1 on guest1: this process can lock 64 KiB of memory"),
        ("no_library", "rank 1 on guest1: rxe0, rxe1: no RDMA library "),
        ("no_nodes", "rank 1 on guest1: rxe0:1: /dev/infiniband/uverbs0 does not exist (docker run --device"),
        ("no_device", "rank 1 on guest1: no RDMA device (/sys/class/infiniband)"),
        ("port_down", "rank 1 on guest1: rxe0:1: port state is DOWN (is the cable connected, and rail0 up?)"),
        ("empty_gid", "rank 0 on guest0: rxe0:1: GID index 7 is empty"),
    ],
)
def test_without_a_device_ranks_take_sockets_and_say_why(rails, name, why):
    document = right(rails, name)
    assert vias(document) == {"NET/Socket/0"}
    assert document["why_not_ib"].startswith(why)
    assert f"railgauge: over NET/Socket, not NET/IB: {why}" in rails[0].err(name)
    assert "Using network Socket" in rails[1].err(name)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("little_memory", "ulimit -l unlimited"), ("no_library", "libibverbs1"), ("other_gid", "GID_INDEX")],
)
def test_the_reason_comes_with_a_remedy(rails, name, remedy):
    assert remedy in json.loads(rails[0].out(name))["why_not_ib"]


def test_data_is_right_where_one_port_takes_shorter_packets(rails):
    assert vias(right(rails, "unlike_mtus")) == {"NET/IB/0"}


def test_a_transport_that_was_asked_for_and_not_taken_fails_the_run(rails):
    assert rails[0].status("wrong_name") == FAILED
    assert "expected NET/IB: rank 0 on guest0: rxe0:1: NCCL_IB_HCA=mlx5" in rails[0].err("wrong_name")


def test_a_network_that_was_forced_and_is_not_there_ends_the_run(rails):
    assert rails[0].status("forced") == 3
    assert "NCCL_NET=IB, but rank 0 on guest0: rxe0:1: NCCL_IB_HCA=mlx5 excludes it" in rails[0].err("forced")


def test_a_gid_behind_a_hole_is_found(rails):
    assert vias(right(rails, "holes")) == {"NET/IB/0"}


def test_a_link_that_goes_down_ends_the_run_and_is_named(rails):
    assert rails[0].status("link_down") == FAILED
    said = rails[0].err("link_down") + rails[1].err("link_down")
    assert "rxe0" in said.partition("Init COMPLETE")[2]


def test_a_guest_that_is_killed_ends_the_run_and_is_named(rails):
    assert rails[0].status("killed") == FAILED
    assert "rank 1" in rails[0].err("killed").rpartition("Init COMPLETE")[2]
