# SPDX-License-Identifier: Apache-2.0
"""What the judges of links answer: what becomes of a link, what it is less than, and why that is no fault."""

from enum import StrEnum
from typing import TypeAlias

Key: TypeAlias = tuple[str, int]
"""The host as the topology names it, and the bus id as a number (busid.to_number)."""


class Verdict(StrEnum):
    """What becomes of a link. DEGRADED and BELOW_PEERS are faults; BY_DESIGN is less than possible, and no fault."""

    GOOD = "good"
    DEGRADED = "degraded"
    BELOW_PEERS = "below peers"
    BY_DESIGN = "by design"
    UNKNOWN = "unknown"


FAULTS = (Verdict.DEGRADED, Verdict.BELOW_PEERS)


class Reason(StrEnum):
    """What a link is less than."""

    ENDS_LANES = "fewer lanes than both ends can do"
    ENDS_SPEED = "a lower speed than both ends can do"
    TWINS = "less than most devices of the model can do"
    PORT = "less than a port of the NIC carries"
    PORTS = "less than the ports of the NIC carry together"
    BELOW = "much less than a single link below it carries"
    BOGUS = "a bridge that a hypervisor or a file invented"
    SIBLINGS = "fewer NVLinks than most GPUs of the kind have"
    LISTED = "fewer NVLinks than NVML lists"
    ONE_SIDED = "fewer NVLinks than the GPU at the other end has"


class Excuse(StrEnum):
    """Why less than possible is no fault."""

    ALONE = "the machine has no other device"
    ALIKE = "all devices of the model have as little"
    AT_REST = "a link that rests lowers its speed"
    MIG = "MIG turns NVLinks off"
