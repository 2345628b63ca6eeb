# SPDX-License-Identifier: Apache-2.0
"""The tuning file (schema railgauge/tuning/1): the times that `run --tune` has measured, by which later runs choose.

It holds times, not choices, so that entries stay usable with NCCL_ALGO and beside those of other machines. Rank 0 reads
it for all ranks: they must make the same choices.
"""

import logging
import os
import platform
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from railgauge import __version__
from railgauge.collectives.cost.host_choice import Times
from railgauge.collectives.tuning import TuningScope
from railgauge.topo.errors import InputError, UnavailableError
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.cpuinfo import CPUINFO, first_processor
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.files.json_value import json_value
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_SOCKET

SCHEMA = "railgauge/tuning/1"
VARIABLE = "RAILGAUGE_TUNING_FILE"
FOLDER, NAME = "railgauge", "tuning.json"
MOST_BYTES = 16 << 20
OF_GPUS = ("protocol", "blocks", "chunk_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One size of a collective with one algorithm: the slowest rank's best time."""

    collective: Collective
    algorithm: Algorithm
    bytes: int
    time_us: float
    protocol: Protocol | None = None
    """For GPUs only, like `blocks` and `chunk_bytes` (gpu_way.Launch); on the host the size decides."""
    blocks: int = 0
    chunk_bytes: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        """As in a document: without absent fields."""
        return {name: value for name, value in asdict(self).items() if value or name not in OF_GPUS}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPlace:
    """The machine of times: the numbers of ranks and nodes, the first node's processor or GPUs; and the network, unless
    it is sockets.
    """

    machine: str
    ranks: int
    nodes: int
    cores: int
    """Cores that the ranks of a node can use together; of the node with the fewest. 1 for GPUs, where they do not
    matter."""
    memories: int
    """The number of sets of ranks that share memory: the number of nodes, unless sharing is disabled."""


Tuning = dict[TuningPlace, tuple[Timed, ...]]
"""The content of a file."""


def tuning_file(environ: Mapping[str, str]) -> str:
    """The file's path: RAILGAUGE_TUNING_FILE, else railgauge/tuning.json in the user's cache directory."""
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.sep, ".cache")
    return environ.get(VARIABLE) or os.path.join(caches, FOLDER, NAME)


def read_tuning(path: str) -> Tuning:
    """The content of a file; empty if the file is, as /dev/null.

    Raises:
        InputError: it is unreadable, or not a tuning file.
    """
    data = read_bytes(path, MOST_BYTES)
    if not data.strip():
        return {}
    if len(data) > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB", path)
    try:
        document = json_value(data)
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA!r}")
        return dict(_entry(facts) for facts in document["entries"])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"not a tuning file ({why}): remove it, or measure again with --tune", path) from None


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """The file's content as one JSON value."""
    entries = [asdict(place) | {"measured": [timed.facts for timed in measured]} for place, measured in tuning.items()]
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": socket.gethostname(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "entries": entries,
    }


def prepare_tuning(path: str) -> None:
    """Check that new measurements can be added to a file.

    Raises:
        InputError: as in `read_tuning`. UnavailableError: the file cannot be written, or its directory cannot be
        created.
    """
    folder = os.path.dirname(path) or "."
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot create the tuning file's directory {folder}: {error.strerror}") from None
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UnavailableError(f"cannot write the tuning file {path}: set {VARIABLE} to another path")
    if os.path.exists(path):
        read_tuning(path)


def with_measured(tuning: Tuning, place: TuningPlace, measured: Iterable[Timed]) -> Tuning:
    """The file's content after a measurement: the measured collectives of this machine are replaced."""
    new = tuple(measured)
    again = {timed.collective for timed in new}
    return tuning | {place: (*(t for t in tuning.get(place, ()) if t.collective not in again), *new)}


def times_by_collective(measured: Iterable[Timed]) -> dict[Collective, Times]:
    """Measured times in the form for `tuning.choose`."""
    found: dict[Collective, dict[Algorithm, dict[int, float]]] = {}
    for timed in measured:
        found.setdefault(timed.collective, {}).setdefault(timed.algorithm, {})[timed.bytes] = timed.time_us
    return dict(found)


def measured_for(
    bootstrap: Bootstrap, place: Callable[[], TuningPlace], environ: Mapping[str, str] = os.environ
) -> tuple[Timed, ...]:
    """The times in rank 0's tuning file for its machine, which rank 0 reads; all ranks call it together.

    Raises:
        InputError: on rank 0, as in `read_tuning`, for a file that the user named; for the default file it is a
        warning.
        RunError: a rank was lost, or runs another version.
    """
    found = _read_here(place(), environ) if bootstrap.rank == 0 else ()
    return tuple(bootstrap.broadcast([timed.facts for timed in found], list[_timed]))  # type: ignore[valid-type]


def _read_here(place: TuningPlace, environ: Mapping[str, str]) -> tuple[Timed, ...]:
    path = tuning_file(environ)
    if environ.get(VARIABLE):
        return read_tuning(path).get(place, ())
    try:
        return read_tuning(path).get(place, ()) if os.path.exists(path) else ()
    except InputError as error:  # not requested by the user: another version may have written it
        logging.getLogger(__name__).warning("railgauge: using the cost model for algorithms: %s", error)
        return ()


def place_of(peers: Sequence[Peer], network: str = NET_SOCKET) -> TuningPlace:
    """For ranks that have exchanged their facts, of which the first runs here; with their network if they need one."""
    there = TuningScope.of(peers, rings=0, trees=0)
    machine = this_machine() if network == NET_SOCKET else f"{this_machine()}, {network}"
    return TuningPlace(
        machine=machine, ranks=there.ranks, nodes=there.nodes, cores=there.cores, memories=len(there.hosts)
    )


def this_machine() -> str:
    """This kind of machine: its processor."""
    fields = first_processor(LiveReader().text(CPUINFO) or "")
    return fields.get("model name", "").strip() or platform.machine()


def _entry(facts: dict[str, Any]) -> tuple[TuningPlace, tuple[Timed, ...]]:
    counts = {name: int(facts[name]) for name in ("ranks", "nodes", "cores", "memories")}
    measured = (_timed(timed) for timed in facts["measured"] if _is_known(timed))
    return TuningPlace(machine=str(facts["machine"]), **counts), tuple(measured)


def _is_known(facts: dict[str, Any]) -> bool:
    """Whether this version has that collective and algorithm; a newer one may have written others."""
    known = facts["collective"] in tuple(Collective) and facts["algorithm"] in tuple(Algorithm)
    return known and facts.get("protocol") in (None, *Protocol)


def _timed(facts: dict[str, Any]) -> Timed:
    """Raises ValueError, TypeError or KeyError if it is invalid."""
    timed = Timed(
        collective=Collective(facts["collective"]),
        algorithm=Algorithm(facts["algorithm"]),
        bytes=int(facts["bytes"]),
        time_us=float(facts["time_us"]),
        protocol=Protocol(facts["protocol"]) if facts.get("protocol") else None,
        blocks=int(facts.get("blocks", 0)),
        chunk_bytes=int(facts.get("chunk_bytes", 0)),
    )
    if min(timed.bytes, timed.blocks, timed.chunk_bytes) < 0 or not 0 < timed.time_us < float("inf"):
        raise ValueError(f"{timed.collective} by {timed.algorithm}: {timed.bytes} bytes in {timed.time_us} us")
    return timed
