# SPDX-License-Identifier: Apache-2.0
"""Warnings about rejected connections, rate limited so that a port scan cannot fill a disk."""

import time

MOST = 20
"""How many lines are logged in each PERIOD_S."""
PERIOD_S = 3600.0


class Complaints:
    """Warnings of one listener to the logger of this name; the last line before it falls silent says so."""

    def __init__(self, logger: str) -> None:
        self._logger = logger
        self._since = time.monotonic()
        self._logged = 0
        self.refused: dict[str, None] = {}
        """The first peers that were rejected, and why; repeated in the message when a rank does not join."""

    def refuse(self, what: str, peer: str, why: str) -> None:
        """Log what was done to which peer (HOST:PORT, or a rank and its host), and keep it in `refused`."""
        if len(self.refused) < MOST:
            self.refused[f"{peer.rpartition(':')[0] or peer}, {why}"] = None
        self.log(f"{what} {peer}: {why}")

    def log(self, message: str) -> None:
        """Log the message, unless the rate limit is reached."""
        now = time.monotonic()
        if now - self._since > PERIOD_S:
            self._since, self._logged = now, 0
        self._logged += 1
        if self._logged > MOST:
            return
        try:
            import logging  # takes a while, and most runs have nothing to complain about
        except OSError:
            return  # no descriptor is left to read it with

        more = "; further ones are not logged for an hour" if self._logged == MOST else ""
        logging.getLogger(self._logger).warning("railgauge: %s%s", message, more)
