# SPDX-License-Identifier: Apache-2.0
"""A setting is judged by what it does on the machine at hand."""

import pytest
from tests.topo.findings.node.cases import case

from railgauge.topo.findings.settings.judgement import judge

ROCE, HOLES, MIXED = "hgx-h100-8nic", "hgx-h100-gid-holes", "dgx-h100"


def judged(fixture, *settings):
    pairs = [text.partition("=")[::2] for text in settings]
    one = case(fixture, settings=dict(pairs))
    return {f"{found.name}={found.value}": judge(one, found).opinion for found in one.known_settings}


GUIDES = {
    "NCCL_IB_GID_INDEX=3": {ROCE: "harmless", HOLES: "harmful", "laptop": "harmless"},
    "NCCL_IB_TC=136": {ROCE: "effective", HOLES: "effective", "laptop": "harmless"},
    "NCCL_IB_TIMEOUT=22": {ROCE: "effective", HOLES: "effective", "laptop": "harmless"},
    "NCCL_IB_QPS_PER_CONNECTION=8": {ROCE: "effective", HOLES: "effective", "laptop": "harmless"},
    "NCCL_IB_HCA=mlx5": {ROCE: "harmless", HOLES: "harmless", "laptop": "harmless"},
    "NCCL_SOCKET_IFNAME=eth": {ROCE: "harmful", HOLES: "harmful", "laptop": "harmful"},
    "NCCL_IB_DISABLE=0": {ROCE: "harmless", HOLES: "harmless", "laptop": "harmless"},
    "NCCL_PROTOS=2": {ROCE: "ignored", HOLES: "ignored", "laptop": "ignored"},
    "NCCL_DEBUG=TRACE": {ROCE: "effective", HOLES: "effective", "laptop": "effective"},
    "GLOO_SOCKET_IFNAME=eth0,eth1": {ROCE: "harmful", HOLES: "harmful", "laptop": "harmful"},
    "TORCH_NCCL_BLOCKING_WAIT=1": {ROCE: "effective", HOLES: "effective", "laptop": "effective"},
    "HSA_FORCE_FINE_GRAIN_PCIE=1": {ROCE: "effective", HOLES: "effective", "laptop": "effective"},
    "HSA_ENABLE_PEER_SDMA=2": {ROCE: "harmful", HOLES: "harmful", "laptop": "harmful"},
    "HSA_ENABLE_SDMA=1": {ROCE: "harmless", HOLES: "harmless", "laptop": "harmless"},
    "RCCL_MSCCL_ENABLE=0": {ROCE: "effective", HOLES: "effective", "laptop": "effective"},
    "RCCL_MSCCL_FORCE_ENABLE=yes": {ROCE: "harmful", HOLES: "harmful", "laptop": "harmful"},
    "RCCL_MSCCL_ENABEL=1": {ROCE: "unknown", HOLES: "unknown", "laptop": "unknown"},
    "RCCL_P2P_NET_THRESHOLD=-1": {ROCE: "harmful", HOLES: "harmful", "laptop": "harmful"},
    "RCCL_TREES=0 1": {ROCE: "effective", HOLES: "effective", "laptop": "effective"},
    "TORCH_NCCL_IB_HCA=mlx5": {ROCE: "ignored", HOLES: "ignored", "laptop": "ignored"},
    "UCX_NET_DEVICES=mlx5_0:1": {ROCE: "effective", HOLES: "effective", "laptop": "harmful"},
}


@pytest.mark.parametrize("fixture", [ROCE, HOLES, "laptop"])
def test_settings_of_well_known_guides_are_judged_on_the_machine(fixture):
    verdicts = {setting: str(opinion.verdict) for setting, opinion in judged(fixture, *GUIDES).items()}
    assert verdicts == {setting: expected[fixture] for setting, expected in GUIDES.items()}


@pytest.mark.parametrize(
    ("setting", "verdict", "finding"),
    [
        ("NCCL_IB_HCA=:1", "ignored", "nccl-setting-ignored"),
        ("NCCL_IB_HCA=mlx5_1", "harmful", "ib-hca-prefix"),
        ("NCCL_IB_HCA=rocep1s0", "harmful", "ib-hca-nomatch"),
        ("NCCL_IB_HCA==mlx5_0,mlx5_1", "harmful", "nccl-setting-harmful"),
        ("NCCL_IB_HCA=^=mlx5_1,mlx5_2,mlx5_7,mlx5_8", "effective", None),
        ("NCCL_SOCKET_IFNAME=lo", "harmful", "socket-ifname-virtual"),
        ("NCCL_SOCKET_IFNAME=enp41s0f0np0", "effective", None),
        ("NCCL_IB_DISABLE=1", "harmful", "nccl-setting-harmful"),
        ("NCCL_P2P_DISABLE=1", "harmful", "nccl-setting-harmful"),
        ("NCCL_NET=Socket", "harmful", "nccl-setting-harmful"),
        ("NCCL_NET_GDR_LEVEL=LOC", "harmful", "nccl-setting-harmful"),
        ("NCCL_NET_GDR_LEVEL=PIX", "harmless", None),
        ("NCCL_NET_GDR_LEVEL=SYS", "effective", None),
        ("NCCL_P2P_LEVEL=NVL", "harmless", None),
        ("NCCL_P2P_LEVEL=LOC", "harmful", "nccl-setting-harmful"),
        ("NCCL_PROTO=LL", "harmful", "nccl-setting-harmful"),
        ("NCCL_ALGO=Ring", "harmful", "nccl-setting-harmful"),
        ("NCCL_ALGO=^PAT", "effective", None),
        ("NCCL_NVLS_ENABLE=0", "effective", None),
        ("NCCL_MAX_NCHANNELS=2", "harmful", "nccl-setting-harmful"),
        ("NCCL_SHM_DISABLE=1", "harmless", None),
        ("NCCL_IB_PCI_RELAXED_ORDERING=0", "harmful", "relaxed-ordering-off"),
        ("NCCL_SOCKET_NTHREADS=8", "harmless", None),
        ("NCCL_NET=IB", "harmless", None),
        ("NCCL_IB_TIMEOUT=022", "harmful", "nccl-setting-invalid"),
        ("NCCL_IB_TIMEOUT=20", "harmless", None),
        ("NCCL_IB_TIMEOUT=2", "harmful", "nccl-setting-harmful"),
        ("NCCL_IB_TIMEOUT=14", "effective", None),
        ("NCCL_IB_TIMEOUT=0", "effective", None),
        ("NCCL_NET=IB:mlx5_0,mlx5_1", "harmful", "nccl-setting-invalid"),
        ("NCCL_CROSS_NIC=0", "effective", None),
        ("NCCL_ALGO=Rings", "harmful", "nccl-setting-invalid"),
        ("NCCL_P2P_LEVEL=NEAR", "ignored", "nccl-setting-ignored"),
        ("NCCL_DEBUG=", "harmless", None),
    ],
)
def test_one_setting_and_the_finding_that_says_the_same(setting, verdict, finding):
    opinion = judged(MIXED, setting)[setting]
    assert (str(opinion.verdict), opinion.finding) == (verdict, finding)


def test_a_machine_of_which_nothing_is_known_leaves_lists_unknown():
    one = case("laptop", facts={"interfaces": {"error": "forbidden"}}, settings={"NCCL_SOCKET_IFNAME": "eth0"})
    assert str(judge(one, one.known_settings[0]).opinion.verdict) == "unknown"


def test_a_file_that_turns_a_part_off_is_harmful_by_its_finding():
    one = case(MIXED, files={"/etc/nccl.conf": "NCCL_P2P_DISABLE=1"}, settings={})
    opinion = judge(one, one.known_settings[0]).opinion
    assert (str(opinion.verdict), opinion.finding) == ("harmful", "conf-file-forgotten")


def test_a_shorter_wait_notices_a_dead_link_sooner():
    shorter, longer = (judged(MIXED, one)[one].why for one in ("NCCL_IB_TIMEOUT=18", "NCCL_IB_TIMEOUT=22"))
    assert "taken for a dead link sooner" in shorter
    assert "a dead link is noticed later" in longer


@pytest.mark.parametrize(
    ("setting", "verdict", "words"),
    [
        ("FI_EFA_USE_DEVICE_RDMA=1", "effective", "libfabric reads it"),
        ("UCX_TLS=tcp", "effective", "UCX reads it"),
        ("CUDA_DEVICE_MAX_CONNECTIONS=0", "harmful", "not in the range 1..32"),
        ("TORCH_NCCL_EXTRA_DUMP_ON_EXEC=1", "effective", "PyTorch reads it"),
        ("TORCH_NCCL_DUMP_ON_TIMEOUT=1", "harmless", "the default"),
        ("NCCL_FASTRAK_USE_LLCM=1", "effective", "Google's FasTrak plugin reads it"),
        ("RX_QUEUE_LEN=8192", "unknown", "neither NCCL nor a program"),
    ],
)
def test_settings_of_other_programs_are_theirs(setting, verdict, words):
    opinion = judged(ROCE, setting)[setting]
    assert str(opinion.verdict) == verdict
    assert words in opinion.why
