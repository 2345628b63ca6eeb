# SPDX-License-Identifier: Apache-2.0
"""Settings that NCCL reads otherwise than written: those of files, by release."""

import pytest

from railgauge.topo.facts.sources.nccl_settings import ENVIRONMENT, Setting
from railgauge.topo.nccl.settings.validity import fault_of

FILE = "/etc/nccl.conf"


def windows(name, value):
    return Setting(name=name, value=value, origin=FILE, carriage_return=True)


@pytest.mark.parametrize(
    ("release", "faulty"), [(None, True), ("2.23.4", True), ("2.29.7", True), ("2.30.3", False), ("2.32.3", False)]
)
def test_a_carriage_return_behind_a_text_counts_before_2_30(release, faulty):
    fault = fault_of(windows("NCCL_SOCKET_IFNAME", "eth0"), release)
    assert (fault is not None) == faulty
    if fault:
        assert "up to 2.29" in fault.message
        assert "2.30" in fault.message
        assert (f"this system has {release}" in fault.message) == (release is not None)


def test_a_number_ends_before_a_carriage_return():
    assert fault_of(windows("NCCL_IB_TC", "106"), "2.28.9") is None


@pytest.mark.parametrize("name", ["export NCCL_NET", " NCCL_NET", "\ufeffNCCL_NET", "set NCCL_NET"])
def test_a_line_that_does_not_begin_with_the_name_sets_nothing_that_nccl_reads(name):
    fault = fault_of(Setting(name=name, value="IB", origin=FILE))
    assert fault.ignored
    assert fault.meant == "NCCL_NET"


def test_variables_of_other_programs_have_no_fault_of_nccls():
    for name in ("CUDA_VISIBLE_DEVICES", "TORCH_NCCL_NAN_CHECK", "FOO", "AWS_OFI_NCCL_VERSION", "VLLM_NCCL_SO_PATH"):
        assert fault_of(Setting(name=name, value="x", origin=FILE)) is None


def test_an_empty_comm_id_is_fatal_and_another_empty_setting_is_none():
    assert fault_of(Setting(name="NCCL_COMM_ID", value="", origin=ENVIRONMENT)).fatal
    assert fault_of(Setting(name="NCCL_NET", value="", origin=ENVIRONMENT)) is None


@pytest.mark.parametrize("devices", ["IB:mlx5_0,mlx5_1", "mlx5_0:1"])
def test_a_list_of_devices_is_no_network(devices):
    fault = fault_of(Setting(name="NCCL_NET", value=devices, origin=ENVIRONMENT))
    assert fault.fatal
    assert fault.meant == "NCCL_IB_HCA"
    assert fault_of(Setting(name="NCCL_NET", value="AWS Libfabric", origin=ENVIRONMENT)) is None


@pytest.mark.parametrize(("release", "ignored"), [("2.18.3", True), ("2.24.3", False), (None, False)])
def test_a_setting_that_the_release_does_not_read_yet(release, ignored):
    fault = fault_of(Setting(name="NCCL_RAS_ENABLE", value="0", origin=ENVIRONMENT), release)
    assert (fault is not None) == ignored
    assert fault is None or fault == (f"is read since NCCL 2.24; this system has {release}", True, False, None)


def test_settings_of_plugins_are_none_of_nccls():
    assert fault_of(Setting(name="NCCL_FASTRAK_USE_LLCM", value="1", origin=ENVIRONMENT)) is None
