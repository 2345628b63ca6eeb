# SPDX-License-Identifier: Apache-2.0
"""NCCL_IB_* of queue pairs: NCCL's defaults, its readings, and what no queue pair has."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.ib_connection import IbConnection, read_ib_connection


def test_without_settings_nccls_defaults_hold():
    assert read_ib_connection({}) == IbConnection()
    assert (IbConnection().timeout, IbConnection().retry_count, IbConnection().queue_pairs) == (20, 7, 1)


def test_every_setting_is_taken():
    assert read_ib_connection(
        {
            "NCCL_IB_TC": "106",
            "NCCL_IB_SL": "3",
            "NCCL_IB_TIMEOUT": "22",
            "NCCL_IB_RETRY_CNT": "5",
            "NCCL_IB_PKEY": "0x2",
            "NCCL_IB_QPS_PER_CONNECTION": "4",
            "NCCL_IB_SPLIT_DATA_ON_QPS": "1",
            "NCCL_IB_ADAPTIVE_ROUTING": "1",
            "NCCL_IB_AR_THRESHOLD": "0",
            "NCCL_IB_PCI_RELAXED_ORDERING": "0",
            "NCCL_IB_MQP_RETRY_ALL": "1",
            "NCCL_IB_MQP_RETRY_CNT": "3",
            "NCCL_IB_MQP_RETRY_SLEEP_MSEC": "20",
        }
    ) == IbConnection(
        traffic_class=106,
        service_level=3,
        timeout=22,
        retry_count=5,
        pkey_index=2,
        queue_pairs=4,
        split=True,
        adaptive_routing=True,
        adaptive_from=0,
        relaxed_ordering=False,
        modify_retries_all=True,
        modify_retries=3,
        modify_pause_ms=20,
    )


def test_less_than_nothing_is_the_default_of_the_fabric():
    found = read_ib_connection({"NCCL_IB_TC": "-1", "NCCL_IB_SL": "-1", "NCCL_IB_AR_THRESHOLD": "-1"})
    assert (found.traffic_class, found.service_level, found.adaptive_from) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("NCCL_IB_TIMEOUT", "32", "out of range 0..31"),
        ("NCCL_IB_RETRY_CNT", "8", "out of range 0..7"),
        ("NCCL_IB_SL", "16", "out of range -1..15"),
        ("NCCL_IB_TC", "256", "out of range -1..255"),
        ("NCCL_IB_QPS_PER_CONNECTION", "0", "out of range 1..128"),
        ("NCCL_IB_PKEY", "-1", "out of range 0..65535"),
        ("NCCL_IB_MQP_RETRY_CNT", "-1", "out of range 0..2147483647"),
        ("NCCL_IB_TIMEOUT", "long", "not a number .*default 20"),
        ("NCCL_IB_SPLIT_DATA_ON_QPS", "yes", "not a number"),
    ],
)
def test_what_no_queue_pair_has_is_an_error_that_says_what_it_has(name, value, says):
    with pytest.raises(UsageError, match=f"{name}={value} is .*{says}"):
        read_ib_connection({name: value})


def test_without_a_setting_infiniband_alone_routes_adaptively():
    assert IbConnection().routes_adaptively("InfiniBand")
    assert not IbConnection().routes_adaptively("Ethernet")
    assert IbConnection(adaptive_routing=True).routes_adaptively("Ethernet")
    assert not IbConnection(adaptive_routing=False).routes_adaptively("InfiniBand")
