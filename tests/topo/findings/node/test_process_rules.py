# SPDX-License-Identifier: Apache-2.0
"""Rules about limits, shared memory and settings: each fires on its fault, is silent without, and knows its limits."""

import pytest
from tests.topo.findings.node.cases import case, findings, levels, worst

from railgauge.topo.findings.node.shm_too_small import SEGMENT_BYTES

MIB, GB = 1 << 20, 10**9
BLIND = "dgx-h100"


def process(**answers):
    return {"process": {"memlock_bytes": [-1, -1], "open_files": [65536, 65536], "numa_error": "", **answers}}


def memory(free, *segments, size=8 * GB):
    return {"shared_memory": {"size_bytes": size, "free_bytes": free, "segments": list(segments)}}


@pytest.mark.parametrize(
    ("soft", "capabilities", "level"),
    [
        (-1, 0, "PASS"),
        (4 * GB, 0, "PASS"),
        (256 * MIB, 0, "WARN"),
        (8 * MIB, 0, "FAIL"),
        (65536, 0, "FAIL"),
        (65536, 1 << 14, "PASS"),
        (65536, None, "FAIL"),
    ],
)
def test_locked_memory(soft, capabilities, level):
    one = case(BLIND, facts=process(memlock_bytes=[soft, soft], capabilities=capabilities))
    assert worst("memlock-low", one) == level


def test_locked_memory_matters_to_rdma_only():
    assert worst("memlock-low", case("laptop", facts=process(memlock_bytes=[65536, 65536]))) is None


@pytest.mark.parametrize(
    ("soft", "hard", "level"),
    [
        (1024, 1 << 20, "INFO"),
        (1024, -1, "INFO"),
        (1024, 1024, "WARN"),
        (256, 65536, "WARN"),
        (256, 256, "FAIL"),
        (65536, 65536, "PASS"),
        (-1, -1, "PASS"),
    ],
)
def test_open_files(soft, hard, level):
    assert worst("nofile-low", case("laptop", facts=process(open_files=[soft, hard]))) == level


@pytest.mark.parametrize(
    ("error", "fixture", "level"),
    [
        ("", BLIND, "PASS"),
        ("Operation not permitted", BLIND, "WARN"),
        ("Operation not permitted", "laptop", "INFO"),
        ("Function not implemented", BLIND, "INFO"),
        (None, BLIND, "UNKNOWN"),
    ],
)
def test_system_calls_about_numa(error, fixture, level):
    assert worst("numa-syscalls-blocked", case(fixture, facts=process(numa_error=error, seccomp=2))) == level


@pytest.mark.parametrize(
    ("fixture", "free", "level"),
    [
        ("consumer-2x5090", 8 * GB, "PASS"),
        ("consumer-2x5090", 64 * MIB, "WARN"),
        ("consumer-2x5090", 100 * MIB, "PASS"),
        ("consumer-2x5090", 20 * MIB, "WARN"),
        ("consumer-2x5090", 1 * MIB, "FAIL"),
        ("pcie-no-numa", 64 * MIB, "WARN"),
        (BLIND, 64 * MIB, "INFO"),
        (BLIND, 1 * MIB, "INFO"),
        ("laptop", 64 * MIB, "PASS"),
    ],
)
def test_room_in_shared_memory_is_held_against_what_rings_take(fixture, free, level):
    assert worst("shm-too-small", case(fixture, facts=memory(free))) == level


def test_the_channels_that_the_room_is_reckoned_for_are_in_the_evidence():
    [found] = findings("shm-too-small", case("consumer-2x5090", facts=memory(20 * MIB)))
    assert found.evidence["need_bytes"] == 2 * found.evidence["channels"] * SEGMENT_BYTES


def segment(held, size=5 * MIB, age=3600):
    return {"name": "nccl-aBcDeF", "size_bytes": size, "age_s": age, "held": held}


@pytest.mark.parametrize(
    ("one", "level"),
    [
        (segment(0), "INFO"),
        (segment(0, size=3 * GB), "WARN"),
        (segment(1, size=3 * GB), "PASS"),
        (segment(0, age=5), "PASS"),
        (segment(None), "UNKNOWN"),
    ],
)
def test_segments_that_nobody_holds(one, level):
    assert worst("shm-leftovers", case("laptop", facts=memory(8 * GB, one))) == level


@pytest.mark.parametrize(
    "rule", ["memlock-low", "nofile-low", "numa-syscalls-blocked", "shm-too-small", "shm-leftovers"]
)
def test_what_was_not_recorded_is_unknown(rule):
    assert worst(rule, case(BLIND)) == "UNKNOWN"


@pytest.mark.parametrize(
    ("name", "value", "ignored", "invalid"),
    [
        ("NCCL_PROTO", "Simple", "PASS", "PASS"),
        ("NCCL_PROTOS", "2", "WARN", "PASS"),
        ("NCCL_IB_TIMEOUT ", "22", "WARN", "PASS"),
        ("NCCL_LL_THRESHOLD", "0", "INFO", "PASS"),
        ("NCCL_SITE_PLUGIN_LANES", "1", "INFO", "PASS"),
        ("NCCL_FASTRAK_USE_LLCM", "1", "PASS", "PASS"),
        ("NCCL_ASYNC_ERROR_HANDLING", "1", "WARN", "PASS"),
        ("NCCL_P2P_LEVEL", "NEAR", "INFO", "PASS"),
        ("NCCL_IB_HCA", ":1", "INFO", "PASS"),
        ("NCCL_SOCKET_IFNAME", "e", "INFO", "PASS"),
        ("NCCL_IB_TIMEOUT", "22", "PASS", "PASS"),
        ("NCCL_IB_TIMEOUT", "022", "PASS", "WARN"),
        ("NCCL_IB_TIMEOUT", "22ms", "PASS", "WARN"),
        ("NCCL_IB_TIMEOUT", "40", "PASS", "WARN"),
        ("NCCL_NVLS_ENABLE", "on", "PASS", "WARN"),
        ("NCCL_SOCKET_IFNAME", '"eth0"', "PASS", "WARN"),
        ("NCCL_ALGO", "Rings", "PASS", "FAIL"),
        ("NCCL_DEBUG", "info", "PASS", "PASS"),
        ("NCCL_DEBUG", "DEBUG", "INFO", "PASS"),
        ("NCCL_IB_PKEY", "0x1", "PASS", "PASS"),
    ],
)
def test_settings_that_nccl_does_not_take_as_they_stand(name, value, ignored, invalid):
    one = case("laptop", settings={name: value})
    assert (worst("nccl-setting-ignored", one), worst("nccl-setting-invalid", one)) == (ignored, invalid)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("NCCL_P2P_DISABLE=1", "WARN"),
        ("NCCL_P2P_DISABLE=0", "INFO"),
        ("NCCL_ALGO=Ring", "WARN"),
        ("NCCL_NET=Socket", "WARN"),
        ("NCCL_DEBUG=WARN", "INFO"),
        ("#NCCL_P2P_DISABLE=1", "PASS"),
    ],
)
def test_a_file_that_nobody_remembers(line, level):
    assert worst("conf-file-forgotten", case(BLIND, files={"/etc/nccl.conf": line}, settings={})) == level


def test_the_environment_wins_over_a_file():
    one = case(BLIND, files={"/etc/nccl.conf": "NCCL_P2P_DISABLE=1"}, settings={"NCCL_P2P_DISABLE": "0"})
    assert worst("conf-file-forgotten", one) == "PASS"


def test_a_file_is_told_even_where_the_environment_was_not_recorded():
    one = case(BLIND, files={"/etc/nccl.conf": "NCCL_P2P_DISABLE=1"})
    assert levels("conf-file-forgotten", one) == {"WARN", "UNKNOWN"}
    assert worst("conf-file-forgotten", case(BLIND)) == "UNKNOWN"
