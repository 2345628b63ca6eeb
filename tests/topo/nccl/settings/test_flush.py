# SPDX-License-Identifier: Apache-2.0
"""Settings on flushing what NICs write into GPUs."""

from railgauge.topo.nccl.settings.flush import read_flush


def test_settings_say_always_never_or_nothing():
    assert read_flush({}) is None
    assert read_flush({"NCCL_NET_FORCE_FLUSH": "1"}) is True
    assert read_flush({"NCCL_GDR_FLUSH_DISABLE": "1", "NCCL_NET_FORCE_FLUSH": "1"}) is False
