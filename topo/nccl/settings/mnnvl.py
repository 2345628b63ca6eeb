# SPDX-License-Identifier: Apache-2.0
"""The NCCL_* settings of NVLink between hosts (MNNVL): whether it is used, and which domain a GPU counts as part of.

NCCL's parameters: NCCL_MNNVL_ENABLE (`initTransportsRank`), NCCL_MNNVL_UUID and NCCL_MNNVL_CLIQUE_ID (`fillInfo`), all
of src/init.cc, 2.30.
"""

from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.nccl.settings.parameter import parameter

OFF, REQUIRED, AUTO = 0, 1, 2
AS_REPORTED, BY_RACK = -1, -2
HALF_BITS = 64  # the UUID has two halves, of which each becomes the setting's number
CLIQUE_BITS = 32


class Mnnvl(NamedTuple):
    """The values of the settings; the defaults are NCCL's.

    mode: OFF, REQUIRED, or any other number: where it is possible. cluster: 16 bytes in hex, in place of the UUID that
    NVML reports, None to take that. clique: likewise; BY_RACK: a number made of the serial number of the GPU's rack.
    """

    mode: int = AUTO
    cluster: str | None = None
    clique: int | None = None


DEFAULT = Mnnvl()


def read_mnnvl(settings: Mapping[str, str]) -> Mnnvl:
    """Read the settings in an environment."""
    half = parameter(settings, "NCCL_MNNVL_UUID", AS_REPORTED)
    clique = parameter(settings, "NCCL_MNNVL_CLIQUE_ID", AS_REPORTED)
    return Mnnvl(
        mode=parameter(settings, "NCCL_MNNVL_ENABLE", AUTO),
        cluster=None if half == AS_REPORTED else 2 * (half % (1 << HALF_BITS)).to_bytes(8, "little").hex(),
        clique=None if clique == AS_REPORTED else BY_RACK if clique == BY_RACK else clique % (1 << CLIQUE_BITS),
    )
