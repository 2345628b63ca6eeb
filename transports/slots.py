# SPDX-License-Identifier: Apache-2.0
"""How large the FIFO of a connection is: a few slots, each of which holds a chunk."""

from collections.abc import Mapping

from railgauge.topo.nccl.settings.parameter import parameter

SLOTS = 4
SLOT_BYTES = 256 << 10
"""Few large slots: faster from 1 MiB on than 8 of 64 KiB, by measurements whose samples were not kept."""
PAGE_BYTES = 4 << 10
MOST_SLOT_BYTES = 64 << 20


def slots_of(settings: Mapping[str, str]) -> tuple[int, int]:
    """How many slots and how many bytes each: NCCL_BUFFSIZE is all of them together, in whole pages.

    A size that is not positive counts as not set.
    """
    wanted = parameter(settings, "NCCL_BUFFSIZE", SLOTS * SLOT_BYTES)
    if wanted <= 0:
        return SLOTS, SLOT_BYTES
    pages = wanted // SLOTS // PAGE_BYTES
    return SLOTS, min(MOST_SLOT_BYTES, max(1, pages) * PAGE_BYTES)
