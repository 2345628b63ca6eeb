# SPDX-License-Identifier: Apache-2.0
"""A TCPStore for the tests beside it."""

from datetime import timedelta

import pytest

from railgauge.transports.store import TCPStore


@pytest.fixture
def master():
    with TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=20)) as store:
        yield store
