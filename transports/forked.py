# SPDX-License-Identifier: Apache-2.0
"""What a process finds that was forked from a rank's: copies of its sockets, connections and threads' locks, none of
which it may use. It lets go of what would keep a connection of its parent open, and ends nothing.
"""

import os
import weakref
from typing import Protocol


class Inherited(Protocol):
    """What has a part in a run."""

    def forked(self) -> None:
        """Be a copy from here on, which does nothing any more."""


_all: weakref.WeakSet[Inherited] = weakref.WeakSet()


def leave_to_parent(one: Inherited) -> None:
    """Have it told in each process that is forked from this one."""
    _all.add(one)


def _in_child() -> None:
    for one in tuple(_all):
        one.forked()


os.register_at_fork(after_in_child=_in_child)
