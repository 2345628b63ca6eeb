# SPDX-License-Identifier: Apache-2.0
"""Which NVLink domain a GPU is in."""

import pytest

from railgauge.topo.facts.sources.nvml import NvlinkFabric
from railgauge.topo.nccl.detect.mnnvl import domain_of
from railgauge.topo.nccl.settings.mnnvl import BY_RACK, Mnnvl

FABRIC = NvlinkFabric(state=3, status=0, clique=7, cluster="ab" * 16)
HERE = f"{'ab' * 16}/7"


@pytest.mark.parametrize(
    ("fabric", "mnnvl", "domain"),
    [
        (FABRIC, Mnnvl(), HERE),
        (FABRIC, Mnnvl(cluster="cd" * 16, clique=0), f"{'cd' * 16}/0"),
        (FABRIC._replace(cluster="0" * 32), Mnnvl(), ""),
        (FABRIC._replace(cluster="0" * 32), Mnnvl(cluster="ab" * 16), HERE),
        (FABRIC._replace(state=2), Mnnvl(cluster="ab" * 16), ""),
        (FABRIC, Mnnvl(clique=BY_RACK), ""),
        (None, Mnnvl(cluster="ab" * 16), ""),
    ],
    ids=["reported", "set", "one host", "one host but set", "in progress", "by rack", "not reported"],
)
def test_a_domain_is_a_cluster_and_a_clique_of_registered_gpus(fabric, mnnvl, domain):
    assert domain_of(fabric, mnnvl) == domain
