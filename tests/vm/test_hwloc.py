# SPDX-License-Identifier: Apache-2.0
"""lstopo in the guest and our inventory of the same guest see the same PCI tree, near the same cores."""

import pytest
from tests.topo.hwloc_view import ours, theirs

from railgauge.topo.machine import load_machine

pytestmark = pytest.mark.vm


def test_hwloc_sees_the_same_tree(node):
    reader = load_machine(str(node.folder / "node.tar.zst")).reader
    assert theirs(node.out("lstopo")) == ours(reader)
