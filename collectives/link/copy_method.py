# SPDX-License-Identifier: Apache-2.0
"""How bytes are copied between two GPUs, and in which direction; the numbers are those of
collectives/native/gpu/link.h.
"""

import enum


class CopyMethod(enum.IntEnum):
    """The copy engine, or threads of one GPU that store into the other's memory or load from it."""

    COPY_ENGINE = 0
    STORES = 1
    LOADS = 2

    @property
    def label(self) -> str:
        """For text and documents: copy engine, stores, loads."""
        return self.name.lower().replace("_", " ")


class Flow(enum.IntEnum):
    """From the lower GPU to the higher, back, both at once, or a round trip."""

    OUT = 0
    BACK = 1
    BOTH = 2
    THERE_AND_BACK = 3
