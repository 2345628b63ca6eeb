# SPDX-License-Identifier: Apache-2.0
"""What GPUs reach each other and NICs by, under NCCL's settings."""

from railgauge.collectives.gpu_links import gpu_links
from railgauge.topo.machine import load_machine


def test_levels_bound_what_gpus_access_directly():
    system = load_machine("@dgx-a100").system
    free, bound = (
        gpu_links(system, environ) for environ in ({}, {"NCCL_P2P_LEVEL": "LOC", "NCCL_NET_GDR_LEVEL": "LOC"})
    )
    assert all(all(row) for row in free.p2p)
    assert [[a == b for b in range(8)] for a in range(8)] == bound.p2p
    assert any(nic.sends for row in free.direct for nic in row)
    assert not any(nic.sends or nic.receives for row in bound.direct for nic in row)
