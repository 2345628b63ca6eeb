# SPDX-License-Identifier: Apache-2.0
"""A store that outlives a job's rendezvous, so that another one may follow: each has keys of its own.

    railgauge/left/N     how many rendezvous process N has left, which is the number of its next one

So a late process finds its rendezvous, although others may have completed it already.
"""

from contextlib import suppress

from railgauge.topo.errors import Error
from railgauge.transports.store.prefix_store import PrefixStore
from railgauge.transports.store.store import Store

LEFT = "railgauge/left/{}"


class TurnStore(PrefixStore):
    """The keys of the next rendezvous of one process; `leave` ends it."""

    def __init__(self, store: Store, process: int) -> None:
        self._left = LEFT.format(process)
        self._here = True
        super().__init__(f"railgauge/turn/{store.add(self._left, 0)}", store)

    def leave(self) -> None:
        """Count this rendezvous as left; none can follow if the store is gone. May be called twice."""
        if self._here:
            self._here = False
            with suppress(Error, OSError):
                self.underlying_store.add(self._left, 1)

    def close(self) -> None:
        """See Store; leaves too."""
        self.leave()
        super().close()
