# SPDX-License-Identifier: Apache-2.0
"""The tuning file (schema railgauge/tuning/1): what `run --tune` has measured, which later runs choose by.

It holds times, not choices, so that NCCL_ALGO and other machines' entries leave the rest of them of use. Rank 0 reads
it for all ranks: they have to choose alike.
"""

import json
import os
import platform
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from railgauge import __version__
from railgauge.topo.algorithm import Algorithm, Collective
from railgauge.topo.errors import InputError, RunError
from railgauge.topo.input_file import read_bytes
from railgauge.topo.predict.host_choice import Times
from railgauge.topo.sources.cpuinfo import CPUINFO, first_processor
from railgauge.topo.sources.reader import LiveReader
from railgauge.transports.bootstrap import Bootstrap

SCHEMA = "railgauge/tuning/1"
VARIABLE = "RAILGAUGE_TUNING_FILE"
FOLDER, NAME = "railgauge", "tuning.json"
MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One size of a collective by one algorithm: what the slowest rank took, at best."""

    collective: Collective
    algorithm: Algorithm
    bytes: int
    time_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What times are of: so many ranks on so many nodes, the first of which is such a machine."""

    machine: str
    ranks: int
    nodes: int


Tuning = dict[Place, tuple[Timed, ...]]
"""What a file holds."""


def tuning_file(environ: Mapping[str, str]) -> str:
    """Where the file is: what RAILGAUGE_TUNING_FILE says, else railgauge/tuning.json in the user's folder of caches."""
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.sep, ".cache")
    return environ.get(VARIABLE) or os.path.join(caches, FOLDER, NAME)


def read_tuning(path: str) -> Tuning:
    """What a file holds; nothing where it is empty, as /dev/null is.

    Raises:
        InputError: it is unreadable, or no tuning file.
    """
    data = read_bytes(path, MOST_BYTES)
    if not data.strip():
        return {}
    if len(data) > MOST_BYTES:
        raise InputError(f"more than {MOST_BYTES >> 20} MiB are no tuning file", path)
    try:
        document = json.loads(data)
        if document["schema"] != SCHEMA:
            raise ValueError(f"the schema is {document['schema']!r}, not {SCHEMA!r}")
        return dict(_entry(facts) for facts in document["entries"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"no tuning file ({why}): remove it, or measure anew with --tune", path) from None


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """The file's content as one JSON value."""
    entries = [
        asdict(place) | {"measured": [asdict(timed) for timed in measured]} for place, measured in tuning.items()
    ]
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": socket.gethostname(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "entries": entries,
    }


def with_measured(tuning: Tuning, place: Place, measured: Iterable[Timed]) -> Tuning:
    """What the file holds after a measurement: of this place, the collectives that were measured are replaced."""
    new = tuple(measured)
    again = {timed.collective for timed in new}
    return tuning | {place: (*(t for t in tuning.get(place, ()) if t.collective not in again), *new)}


def times_by_collective(measured: Iterable[Timed]) -> dict[Collective, Times]:
    """Measured times as `tuning.choose` takes them."""
    found: dict[Collective, dict[Algorithm, dict[int, float]]] = {}
    for timed in measured:
        found.setdefault(timed.collective, {}).setdefault(timed.algorithm, {})[timed.bytes] = timed.time_us
    return dict(found)


def measured_for(bootstrap: Bootstrap, nodes: int, environ: Mapping[str, str] = os.environ) -> tuple[Timed, ...]:
    """What rank 0's tuning file holds for these ranks on its machine; all ranks call it together.

    Raises:
        InputError: of rank 0, as in `read_tuning`; a file that is named is not there.
        RunError: a rank was lost, or is of another version.
    """
    found = _read_here(bootstrap.world_size, nodes, environ) if bootstrap.rank == 0 else ()
    told = bootstrap.broadcast([asdict(timed) for timed in found])
    try:
        return tuple(_timed(facts) for facts in told)
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(f"rank 0's measured times cannot be read ({error}): ranks of two versions?") from None


def _read_here(ranks: int, nodes: int, environ: Mapping[str, str]) -> tuple[Timed, ...]:
    path = tuning_file(environ)
    tuning = read_tuning(path) if environ.get(VARIABLE) or os.path.exists(path) else {}
    return tuning.get(Place(machine=this_machine(), ranks=ranks, nodes=nodes), ())


def this_machine() -> str:
    """This kind of machine: its processor, and how many of its cores this process's host has."""
    fields = first_processor(LiveReader().text(CPUINFO) or "")
    name = fields.get("model name", "").strip() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def _entry(facts: dict[str, Any]) -> tuple[Place, tuple[Timed, ...]]:
    place = Place(machine=str(facts["machine"]), ranks=int(facts["ranks"]), nodes=int(facts["nodes"]))
    return place, tuple(_timed(timed) for timed in facts["measured"])


def _timed(facts: dict[str, Any]) -> Timed:
    """Raises ValueError, TypeError or KeyError for anything else."""
    timed = Timed(
        collective=Collective(facts["collective"]),
        algorithm=Algorithm(facts["algorithm"]),
        bytes=int(facts["bytes"]),
        time_us=float(facts["time_us"]),
    )
    if timed.bytes < 0 or not 0 < timed.time_us < float("inf"):
        raise ValueError(f"{timed.collective} by {timed.algorithm}: {timed.bytes} bytes in {timed.time_us} us")
    return timed
