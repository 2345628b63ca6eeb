# SPDX-License-Identifier: Apache-2.0
"""The captures of the nodes of a job: each process that srun or mpirun started captures its node, rank 0 collects them.

Rank 0 runs a store (transports/store) where the launcher says, or tells the others its address through the launcher's.
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from railgauge.cli.cluster.gather import make_folder
from railgauge.cli.cluster.progress import progress
from railgauge.topo.errors import Error, described
from railgauge.topo.files.output_file import write_file
from railgauge.topo.findings.cluster.folder import CAPTURES, NodeFile, Unread
from railgauge.topo.values.node_names import NAME
from railgauge.topo.values.printable import one_line
from railgauge.transports.typed import jsonable, read_json

if TYPE_CHECKING:
    from railgauge.collectives.launch.place import Place
    from railgauge.transports.store.store import Store

NODE, WHERE = "railgauge/capture/{}", "railgauge/captures"
"""Keys: a rank's node and its capture; the address of rank 0's store, where the launcher's holds short values only."""
SPARE_S = 2.0
"""Time that rank 0 waits longer than the others."""
PAUSE_S = 0.05
"""Between two looks at the store."""


def place_in_job() -> "Place | None":
    """This process among those of its job; None if it is not one of several."""
    from railgauge.collectives.launch.place import find_place

    place = find_place()
    return place if place is not None and place.processes > 1 else None


def files_of_job(place: "Place", folder: str, timeout_s: float) -> tuple[list[NodeFile], list[Unread]] | None:
    """On rank 0 the files of all nodes, kept in the folder, and the ranks that sent none; None on the others.

    Raises:
        Error: rank 0 cannot be reached within the timeout.
    """
    with _store(place, timeout_s) as store:
        message = _own(place)
        if place.process:
            store.set(NODE.format(place.process), message)
            return None
        return _collected(place, store, message, folder, timeout_s + SPARE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSender:
    """Who sends a capture: its host, whether it is the first of its node's processes, and why it has none."""

    name: str
    first: bool
    error: str = ""


def _own(place: "Place") -> bytes:
    """A line of JSON about this node, and its capture; of several processes of a node only the first sends it."""
    from railgauge.topo.facts.capture import dumps
    from railgauge.topo.machine import record
    from railgauge.transports.store.store import MAX_VALUE

    about = NodeSender(name=socket.gethostname(), first=not place.local_process)
    data = b""
    try:
        if about.first:
            data = dumps(record()[0], CAPTURES[0])
        if len(data) > MAX_VALUE - 4096:
            error = f"its capture has {len(data)} bytes, more than {MAX_VALUE - 4096}"
            about, data = replace(about, error=error), b""
    except Exception as error:  # the other nodes are examined all the same
        about = replace(about, error=described(error))
    return json.dumps(about, default=jsonable).encode() + b"\n" + data


def _collected(
    place: "Place", store: "Store", own: bytes, folder: str, timeout_s: float
) -> tuple[list[NodeFile], list[Unread]]:
    make_folder(folder)
    files: dict[str, str] = {}
    failed: list[Unread] = []
    waiting = dict.fromkeys(range(1, place.processes))
    deadline = time.monotonic() + timeout_s

    def take(rank: int, message: bytes) -> None:
        name, problem, data = _read(rank, message)
        if problem:
            failed.append(Unread(name=name, reason=problem))
        elif data and not (name in files and place.local_process is None):
            kept = name if name not in files else f"{name}.rank{rank}"  # two hosts of one name
            files[kept] = os.path.join(folder, kept + CAPTURES[0])
            write_file(files[kept], data)

    take(0, own)
    with progress("waiting for ranks", [_rank(rank) for rank in waiting]) as on_done:
        while waiting and time.monotonic() < deadline:
            for rank in [one for one in waiting if store.check([NODE.format(one)])]:
                take(rank, store.get(NODE.format(rank)))
                del waiting[rank]
                on_done([_rank(rank)])
            time.sleep(PAUSE_S if waiting else 0)
    failed += [Unread(name=_rank(rank), reason=f"sent nothing within {timeout_s:g} s") for rank in waiting]
    return list(files.items()), failed


def _read(rank: int, message: bytes) -> tuple[str, str, bytes]:
    """A node's name, its problem ("" without one) and its capture (b"" if another process of its node sends it)."""
    head, _, data = message.partition(b"\n")
    try:
        about: NodeSender = read_json(head, NodeSender)
    except ValueError:
        return _rank(rank), "sent something else than a capture", b""
    known = about.name if NAME.fullmatch(about.name) else _rank(rank)
    return known, one_line(about.error) or ("" if data or not about.first else "sent no data"), data


def _rank(rank: int) -> str:
    return f"rank{rank}"


@contextlib.contextmanager
def _store(place: "Place", timeout_s: float) -> "Iterator[Store]":
    """The store that holds the captures, for as long as this process needs it."""
    from railgauge.transports.init_method import open_store
    from railgauge.transports.secret import job_secret
    from railgauge.transports.store.launcher_store import LauncherStore
    from railgauge.transports.store.prefix_store import PrefixStore

    with contextlib.ExitStack() as stack:
        store: Store = open_store(
            place.init_method,
            process=place.process,
            processes=place.processes,
            timeout=timedelta(seconds=timeout_s),
            secret=job_secret(os.environ),
            environ=os.environ,
        )
        stack.callback(store.close)
        if isinstance(store, LauncherStore):
            store = stack.enter_context(_beside(store, place, timeout_s))
        yield PrefixStore(place.job, store) if place.job else store


@contextlib.contextmanager
def _beside(launcher: "Store", place: "Place", timeout_s: float) -> "Iterator[Store]":
    """A store of rank 0's own, whose address and secret the launcher's store passes on."""
    from railgauge.transports.interface import bootstrap_interface
    from railgauge.transports.secret import new_secret
    from railgauge.transports.store.tcp_store import TCPStore

    timeout = timedelta(seconds=timeout_s)
    if place.process == 0:
        secret, address = new_secret(), bootstrap_interface(os.environ).address
        store = TCPStore(address, 0, is_master=True, timeout=timeout, secret=secret.encode())
        launcher.set(WHERE, json.dumps([address, store.port, secret]))
    else:
        try:
            address, port, secret = read_json(launcher.get(WHERE), tuple[str, int, str])
        except ValueError as error:
            raise Error(f"rank 0 sent no address: {error}") from None
        store = TCPStore(address, port, timeout=timeout, secret=secret.encode())
    with contextlib.closing(store):
        yield store
