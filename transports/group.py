# SPDX-License-Identifier: Apache-2.0
"""A group of ranks as one of them sees it, and the exchanges of small values among them. The Bootstrap is the group of
all ranks of a job; `subgroup` gives some of them.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from railgauge.topo.errors import MismatchError
from railgauge.transports.typed import jsonable, read_json

if TYPE_CHECKING:
    from railgauge.transports.bootstrap import Bootstrap

WORLD = 0
"""The name of the group of all ranks."""


class Group:
    """One rank's membership: `rank` of `world_size` in the group, `members` are the group's ranks in the job.

    `name` is the same number on all of them, and unique to this group. `job` is the membership in the job, which
    watches all ranks and reports failures to them.
    """

    def __init__(self, job: "Bootstrap", members: Sequence[int], rank: int, name: int) -> None:
        self.job = job
        self.members = members
        self.rank = rank
        self.world_size = len(members)
        self.name = name
        self._number = 0

    @property
    def world_rank(self) -> int:
        """This rank's number in the job."""
        return self.members[self.rank]

    def subgroup(self, ranks: Sequence[int], number: int) -> "Group":
        """The subgroup of these ranks, in this order; each of them calls it.

        `number` tells apart what one group is split into at different times, and is the same for all.
        """
        members = tuple(self.members[rank] for rank in ranks)
        told = f"{self.name} {number} {members}".encode()
        name = int.from_bytes(hashlib.sha256(told).digest()[:8], "big")
        return Group(self.job, members, ranks.index(self.rank), name)

    def leave(self) -> None:
        """Take no further part in exchanges of this group."""
        if self.name != WORLD:
            self.job.forget(self.name)

    def all_gather_bytes(self, value: bytes, limit_s: float | None = None) -> list[bytes]:
        """Give every rank all ranks' bytes, in rank order; at most 64 MiB in total.

        The last rank may call it `limit_s` (the timeout) after the first.

        Raises:
            RunError: the run was aborted, a rank was lost, or did not call it in time.
        """
        self._number += 1
        members = () if self.name == WORLD else self.members
        return self.job.exchange(self.name, self._number, members, value, limit_s)

    def all_gather(self, value: Any, kind: Any, limit_s: float | None = None) -> list[Any]:
        """Give every rank all ranks' values, each of a kind as `read_as` takes it; else as `all_gather_bytes`.

        Raises:
            RunError: as `all_gather_bytes`. MismatchError: what a rank sent is of another kind.
        """
        told = self.all_gather_bytes(_packed(value), limit_s)
        return [self._read(rank, each, kind) for rank, each in enumerate(told)]

    def broadcast(self, value: Any, kind: Any, root: int = 0, limit_s: float | None = None) -> Any:
        """Give every rank the root's value; errors as of `all_gather`."""
        mine = _packed(value) if self.rank == root else b""
        return self._read(root, self.all_gather_bytes(mine, limit_s)[root], kind)

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self.all_gather_bytes(b"")

    def _read(self, rank: int, told: bytes, kind: Any) -> Any:
        try:
            return read_json(told, kind)
        except ValueError:
            raise self.junk(rank) from None

    def junk(self, rank: int) -> MismatchError:
        """What to raise where a rank's value cannot be one; `rank` is its number in the group."""
        return MismatchError(
            f"rank {self.members[rank]} sent an unexpected value to an exchange: "
            "is the same version of railgauge installed on its host?"
        )


def _packed(value: Any) -> bytes:
    return json.dumps(value, default=jsonable).encode()
