# SPDX-License-Identifier: Apache-2.0
"""Whether ranks wait for each other's cores. How long they poll is collectives/native/spin.h."""

from collections.abc import Sequence

from railgauge.transports.peer import Peer


def is_crowded(own: Peer, everybody: Sequence[Peer]) -> bool:
    """Whether a rank's host has more ranks of the job than cores for them."""
    here = [peer for peer in everybody if peer.host_id == own.host_id]
    return len(here) > len({cpu for peer in here for cpu in peer.cpus})
