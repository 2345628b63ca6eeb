# SPDX-License-Identifier: Apache-2.0
"""Several ranks in threads of the test's process, which meet through a HashStore."""

import threading
from collections.abc import Callable
from typing import Any

from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.rendezvous import Rendezvous, Share, meet
from railgauge.transports.store.hash_store import HashStore
from railgauge.transports.store.store import Store

LOOPBACK = {"NCCL_SOCKET_IFNAME": "lo"}


def on_ranks(count: int, body: Callable[[Bootstrap], Any], timeout_s: float = 60.0) -> list[Any]:
    """Run `body(bootstrap)` on each of `count` ranks of one process; what it returns or raises, by rank."""
    rendezvous = meet_on(HashStore(), 0, 1, ranks_per_process=count, timeout_s=timeout_s)

    def rank_main(rank: int) -> Any:
        bootstrap = rendezvous.join(rank)
        try:
            return body(bootstrap)
        finally:
            bootstrap.close()

    try:
        return in_threads(count, rank_main)
    finally:
        rendezvous.close()


def on_processes(count: int, body: Callable[[Bootstrap], Any], store: Store, **others: Any) -> list[Any]:
    """The same, each rank a process of its own as far as the rendezvous knows."""

    def process_main(process: int) -> Any:
        rendezvous = meet_on(store, process, count, **others)
        try:
            bootstrap = rendezvous.join(process)
            try:
                return body(bootstrap)
            finally:
                bootstrap.close()
        finally:
            rendezvous.close()

    return in_threads(count, process_main)


def meet_on(store: Store, process: int, processes: int, **others: Any) -> Rendezvous:
    """meet() with what most tests do not care for."""
    settings = {"timeout_s": 60.0, "secret": b"s", "version": "1", "environ": LOOPBACK} | others
    share = Share(process=process, processes=processes, ranks_per_process=settings.pop("ranks_per_process", 1))
    return meet(store, share, **settings)


def in_threads(count: int, body: Callable[[int], Any]) -> list[Any]:
    """What `body(number)` returns or raises, in a thread each."""
    results: list[Any] = [None] * count

    def main(number: int) -> None:
        try:
            results[number] = body(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=main, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
