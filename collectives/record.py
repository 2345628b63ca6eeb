# SPDX-License-Identifier: Apache-2.0
"""The flight record of a run (schema railgauge/record/1): the last operations of every rank, and which rank it waited
for.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from railgauge import __version__
from railgauge.topo.errors import InputError
from railgauge.topo.files.json_value import json_value
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.standing import BlockedOn, Operation, Standing

SCHEMA = "railgauge/record/1"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """The state of all ranks when a run ended."""

    ranks: int
    standings: Mapping[int, list[Standing]]
    """By rank; one that could not be reached is absent."""
    error: str | None
    """What ended the run; None: it ended as planned."""
    host: str
    time: str
    command: list[str]

    @property
    def missing(self) -> list[int]:
        """The ranks that could not be reached."""
        return [rank for rank in range(self.ranks) if rank not in self.standings]

    def to_json(self) -> dict[str, Any]:
        """The document as one JSON value."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "host": self.host,
            "time": self.time,
            "command": self.command,
            "error": self.error,
            "ranks": self.ranks,
            "missing": self.missing,
            "standings": [
                {"rank": rank, "communicators": [_standing_to_json(each) for each in some]}
                for rank, some in sorted(self.standings.items())
            ],
        }


def gather(bootstrap: Bootstrap) -> dict[int, list[Standing]]:
    """All ranks' standings; all ranks call it.

    Raises:
        RunError: a rank was lost meanwhile.
    """
    return dict(enumerate(bootstrap.all_gather(bootstrap.standings(), list[Standing])))


def make_record(
    standings: Mapping[int, list[Standing]], ranks: int, error: str | None, host: str, command: list[str]
) -> Record:
    """The record of a run that has just ended."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return Record(ranks=ranks, standings=standings, error=error, host=host, time=now, command=command)


def parse_record(data: bytes, path: str) -> Record:
    """Read what `Record.to_json` gave, from the file `path`; unknown fields are ignored.

    Raises:
        InputError: it is not a record.
    """
    try:
        document = json_value(data)
    except ValueError as error:
        raise InputError(f"is {error}", path) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"is not a flight record: its schema is not {SCHEMA}", path)
    try:
        return _record(document)
    except KeyError as error:
        raise InputError(f"lacks the field {error}", path) from None
    except (TypeError, ValueError) as error:
        raise InputError(f"is not a flight record: {error}", path) from None


def _standing_to_json(standing: Standing) -> dict[str, Any]:
    on = standing.blocked_on
    waits = {
        "rank": on.rank,
        "for": "slot" if on.frees_slot else "data",
        "channel": on.channel if on.channel >= 0 else None,
        "step": on.step,
    }
    return {
        "id": f"{standing.communicator:016x}",
        "ranks": standing.ranks,
        "waits": waits if standing.waits[0] >= 0 else None,
        "operations": [_operation_to_json(each) for each in standing.operations],
    }


def _operation_to_json(operation: Operation) -> dict[str, Any]:
    return {
        "number": operation.number,
        "collective": operation.collective,
        "count": operation.elements,
        "dtype": operation.dtype,
        "op": operation.op or None,
        "root": operation.root if operation.root >= 0 else None,
        "algorithm": operation.algorithm,
        "channels": operation.channels,
        "began_s": operation.began_s,
        "over": operation.is_over,
        "took_us": operation.took_us if operation.took_us > 0 else None,
    }


def _record(document: dict[str, Any]) -> Record:
    standings = {
        _is(one["rank"], int): [_standing(each) for each in _is(one["communicators"], list)]
        for one in _is(document["standings"], list)
    }
    return Record(
        ranks=_is(document["ranks"], int),
        standings=standings,
        error=None if document["error"] is None else _is(document["error"], str),
        host=_is(document["host"], str),
        time=_is(document["time"], str),
        command=[_is(word, str) for word in _is(document["command"], list)],
    )


def _standing(value: dict[str, Any]) -> Standing:
    waits, ranks = value["waits"], [_is(rank, int) for rank in value["ranks"]]
    on = BlockedOn()
    if waits is not None:
        channel = -1 if waits["channel"] is None else _is(waits["channel"], int)
        on = BlockedOn(_is(waits["rank"], int), waits["for"] == "slot", channel, _is(waits["step"], int))
    return Standing(int(value["id"], 16), ranks, [_operation(each) for each in value["operations"]], on)


def _operation(value: dict[str, Any]) -> Operation:
    took_us = value["took_us"]
    return Operation(
        number=_is(value["number"], int),
        collective=_is(value["collective"], str),
        elements=_is(value["count"], int),
        dtype=_is(value["dtype"], str),
        op="" if value["op"] is None else _is(value["op"], str),
        root=-1 if value["root"] is None else _is(value["root"], int),
        algorithm=_is(value["algorithm"], str),
        channels=_is(value["channels"], int),
        began_s=_number(value["began_s"]),
        took_us=-1.0 if not _is(value["over"], bool) else 0.0 if took_us is None else _number(took_us),
    )


def _number(value: Any) -> float:
    return float(value if type(value) is int else _is(value, float))


def _is(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} where {kind.__name__} belongs")
    return value
