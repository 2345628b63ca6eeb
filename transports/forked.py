# SPDX-License-Identifier: Apache-2.0
"""A process that was forked from a rank's: it has copies of that rank's sockets, connections and threads' locks, none
of which it may use. It closes what would keep a connection of its parent open, and ends nothing else.
"""

import os
import weakref
from typing import Protocol


class Inherited(Protocol):
    """Something that takes part in a run."""

    def forked(self) -> None:
        """Become a forked copy, which does nothing from here on."""


_all: weakref.WeakSet[Inherited] = weakref.WeakSet()


def leave_to_parent(one: Inherited) -> None:
    """Call its `forked` in each process that is forked from this one."""
    _all.add(one)


def _in_child() -> None:
    for one in tuple(_all):
        one.forked()


os.register_at_fork(after_in_child=_in_child)
