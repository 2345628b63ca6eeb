# SPDX-License-Identifier: Apache-2.0
"""Several ranks in threads of the test's process, on a free port."""

import socket
import threading
from collections.abc import Callable
from typing import Any

from railgauge.transports.bootstrap import Bootstrap


def free_listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def on_ranks(count: int, body: Callable[[Bootstrap], Any], timeout_s: float = 20.0) -> list[Any]:
    """Run `body(bootstrap)` on each of `count` ranks; what it returns or raises, by rank."""
    listener = free_listener()
    address = listener.getsockname()[:2]
    results: list[Any] = [None] * count

    def rank_main(rank: int) -> None:
        try:
            bootstrap = Bootstrap.join(
                rank=rank,
                world_size=count,
                address=address,
                timeout_s=timeout_s,
                listener=listener if rank == 0 else None,
            )
            try:
                results[rank] = body(bootstrap)
            finally:
                bootstrap.close()
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=rank_main, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
