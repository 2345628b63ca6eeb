# SPDX-License-Identifier: Apache-2.0
"""A process joins its job: it opens the store that its place names, and does the rendezvous through it."""

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from datetime import timedelta

from railgauge import __version__
from railgauge.collectives.launch.place import Place, check_world
from railgauge.collectives.launch.timeout import check_timeout
from railgauge.topo.errors import Error
from railgauge.topo.facts.sources.nccl_settings import export_files
from railgauge.transports.init_method import open_store
from railgauge.transports.rendezvous import HUB, Rendezvous, Share, meet
from railgauge.transports.secret import job_secret
from railgauge.transports.store.listen import PortInUseError
from railgauge.transports.store.prefix_store import PrefixStore
from railgauge.transports.store.store import Store
from railgauge.transports.store.turn_store import TurnStore

CLIENT = 1
"""Only process 0 runs a store."""
FIRST_WITHIN_S = 5.0
"""So long another job's process 0 has to answer that holds the port."""


@contextlib.contextmanager
def arrive(
    place: Place, *, ranks_per_process: int, timeout_s: float, store: Store | None = None
) -> Iterator[Rendezvous]:
    """The rendezvous of all processes, for as long as the job lasts; through `store` if the caller has one, which may
    be used by one job after another. Settings in NCCL's files apply from here on.

    Raises:
        UsageError: the init method is invalid or contradicts itself; the timeout or the world size is out of bounds.
        UnavailableError: no interface can be used.
        RunError: some processes did not join within the timeout.
    """
    check_timeout(timeout_s)
    check_world(place.processes * ranks_per_process)
    export_files(os.environ)
    secret = job_secret(os.environ)
    with contextlib.ExitStack() as stack:
        if store is not None:
            store = TurnStore(store, place.process)
            stack.callback(store.leave)
        else:
            store = _open(place, timeout_s, secret)
            stack.callback(store.close)
            if place.job:  # without a job secret, a process of another job may connect to the same port
                store = PrefixStore(place.job, store)
        rendezvous = meet(
            store,
            Share(process=place.process, processes=place.processes, ranks_per_process=ranks_per_process),
            timeout_s=timeout_s,
            secret=secret,
            version=__version__,
            environ=os.environ,
        )
        stack.callback(rendezvous.close)
        process = os.getpid()
        try:
            yield rendezvous
        finally:
            if os.getpid() != process:
                stack.pop_all()  # a fork's copy must end nothing


def _open(place: Place, timeout_s: float, secret: bytes) -> Store:
    """The store of a place; of a second process 0 without a secret that of the first, which both jobs' ranks are at."""
    opened = functools.partial(
        open_store, place.init_method, processes=place.processes, secret=secret, environ=os.environ
    )
    try:
        return opened(process=place.process, timeout=timedelta(seconds=timeout_s))
    except PortInUseError:
        if secret or place.job:
            raise
        if first := _of_the_first(opened):
            return first
        raise


def _of_the_first(opened: Callable[..., Store]) -> Store | None:
    """Another job's store on this port; None: another program is there."""
    limit = timedelta(seconds=FIRST_WITHIN_S)
    with contextlib.ExitStack() as undo, contextlib.suppress(Error):
        store = opened(process=CLIENT, timeout=limit)
        undo.callback(store.close)
        store.wait([HUB], limit)
        undo.pop_all()
        return store
    return None
