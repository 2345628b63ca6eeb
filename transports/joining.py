# SPDX-License-Identifier: Apache-2.0
"""Why a process that knows the job's secret cannot be a rank of it, in words."""

from railgauge.topo.values.printable import one_line
from railgauge.transports.frame import Hello
from railgauge.transports.member import Member


def objection(hello: Hello, world_size: int, version: str) -> str | None:
    """What contradicts this job of `world_size` ranks that run `version`; None if nothing does."""
    if hello.world_size != world_size:
        return f"it was started with world size {hello.world_size}, rank 0 with {world_size}"
    if not 0 <= hello.rank < world_size:
        return f"rank {hello.rank} is out of range for world size {world_size}"
    if (theirs := one_line(hello.version)) != version:
        return f"it runs railgauge {theirs}, rank 0 runs {version}: install the same version on all hosts"
    return None


def came_twice(rank: int, first: Member, second: Member) -> str:
    """Two processes claim one rank."""
    return (
        f"two processes came as rank {rank}: {first} and {second}: were both given this RANK, or have two jobs one "
        f"MASTER_ADDR and MASTER_PORT? Give each job a port of its own, or a secret (RAILGAUGE_SECRET)"
    )
