# SPDX-License-Identifier: Apache-2.0
"""JSON of nccl-tests (-J, since 2.17.3: one document a run) and of rccl-tests (-x: one line a size and way)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from railgauge.topo.jobs.tables.documents import figure
from railgauge.topo.jobs.tables.draft import MOST_DEVICES, MOST_ROWS, Drafts, DraftTable, collective_named
from railgauge.topo.jobs.tables.nccl_columns import INTEGER
from railgauge.topo.jobs.tables.nccl_command import command_line
from railgauge.topo.jobs.tables.nccl_release import release_of_code
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, RankDevice, TableRow

LONGEST = 256
MOST_ARGUMENTS = 256


class NcclTestsDocuments:
    """Tables of nccl-tests and rccl-tests out of their JSON."""

    def __init__(self) -> None:
        self._nccl, self._rccl = Drafts(Program.NCCL_TESTS), Drafts(Program.RCCL_TESTS)
        self._key: tuple[object, ...] = ()
        self._table: DraftTable | None = None

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows."""
        return self._nccl.tables() + self._rccl.tables()

    def take_document(self, document: Mapping[str, Any], number: int) -> bool:
        """Take in a document; False if it is another program's."""
        if isinstance(document.get("results"), list) and "nccl_version" in document:
            self._run(document, number)
        elif {"busBw", "inPlace", "name"} <= document.keys():
            self._way(document, number)
        else:
            return False
        return True

    def _run(self, document: Mapping[str, Any], number: int) -> None:
        table = self._nccl.begin(number)
        config = _mapping(document.get("config"))
        _describe(table, document, config)
        _list_devices(table, config.get("devices") or document.get("devices"), config)
        for result in document["results"][:MOST_ROWS]:
            result = _mapping(result)
            ways = [_mapping(result.get(name)) for name in ("out_of_place", "in_place")]
            size = _whole(result.get("size"))
            if size is not None and any(ways):
                table.cpu_time = table.cpu_time or any("cpu_time" in way for way in ways)
                table.add(_row(size, result, *map(_measured, ways)))

    def _way(self, line: Mapping[str, Any], number: int) -> None:
        """One size of rccl-tests, out of place or in place, which follows."""
        size = _whole(line.get("size"))
        if size is None:
            return
        key = tuple(str(line.get(name))[:64] for name in ("name", "type", "redop", "gpus", "nodes", "ranks"))
        if self._table is None or key != self._key:
            self._key, self._table = key, self._rccl.begin(number)
            self._table.test = str(line["name"])[:LONGEST]
            self._table.collective = collective_named(self._table.test)
            self._table.ranks = _whole(line.get("ranks")) or _whole(line.get("gpus")) or 0
            self._table.nodes = _whole(line.get("nodes")) or 0
        way = Measurement(
            time_us=figure(line.get("time")),
            algbw_gb_per_s=figure(line.get("algBw")),
            busbw_gb_per_s=figure(line.get("busBw")),
            wrong=_whole(line.get("#wrong")),
        )
        rows = self._table.rows
        if not line.get("inPlace"):
            self._table.add(_row(size, line, way, None))
        elif rows and rows[-1].size == size and rows[-1].in_place is None:
            rows[-1] = replace(rows[-1], in_place=way)
        else:
            self._table.add(_row(size, line, Measurement(), way))


def _describe(table: DraftTable, document: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    args = document.get("args")
    command = str(args[0]) if isinstance(args, list) and args else ""
    table.test = command.rpartition("/")[2][:LONGEST]
    if isinstance(args, list):
        table.symmetric, table.zero_cta = command_line(" ".join(map(str, args[:MOST_ARGUMENTS])))
    table.collective = collective_named(table.test)
    table.library = release_of_code(_whole(document.get("nccl_version")))
    table.per_thread = _whole(config.get("ngpus"))
    table.iterations, table.warmup = _whole(config.get("iterations")), _whole(config.get("warmup_iters"))
    checked = _whole(config.get("validation"))
    table.checked = None if checked is None else bool(checked)
    table.average_busbw_gb_per_s = figure(_mapping(document.get("average_bus_bandwidth")).get("bandwidth"))
    table.out_of_bounds = _whole(_mapping(document.get("out_of_bounds")).get("count"))
    table.complete = table.average_busbw_gb_per_s is not None


def _list_devices(table: DraftTable, devices: object, config: Mapping[str, Any]) -> None:
    """Up to 2.19 a process names its first GPU alone."""
    listed = [_mapping(one) for one in devices[:MOST_DEVICES]] if isinstance(devices, list) else []
    groups = [one.get("group", 0) for one in listed]
    first = [one for one in listed if one.get("group", 0) == groups[0]]
    processes = {(str(one.get("hostname")), str(one.get("pid"))) for one in first}
    each = (_whole(config.get("nthreads")) or 1) * (_whole(config.get("ngpus")) or 1)
    table.ranks = max(len(first), len(processes) * each)
    table.nodes = len({host for host, _ in processes})
    table.groups = len(set(map(str, groups))) or 1
    table.devices = [
        RankDevice(
            rank=_whole(one.get("rank")) or 0,
            host=str(one.get("hostname", ""))[:LONGEST],
            device=_whole(one.get("device")),
            bus_id=str(one.get("device_hex", ""))[:LONGEST],
            gpu=str(one.get("device_info", ""))[:LONGEST],
        )
        for one in listed
    ]


def _row(
    size: int, values: Mapping[str, Any], out_of_place: Measurement | None, in_place: Measurement | None
) -> TableRow:
    return TableRow(
        size=size,
        out_of_place=out_of_place or Measurement(),
        in_place=in_place,
        dtype=str(values.get("type", ""))[:32],
        redop=str(values.get("redop", ""))[:32],
        root=_root(values.get("root")),
    )


def _measured(way: Mapping[str, Any]) -> Measurement | None:
    if not way:
        return None
    return Measurement(
        time_us=figure(way.get("time", way.get("cpu_time"))),
        algbw_gb_per_s=figure(way.get("alg_bw")),
        busbw_gb_per_s=figure(way.get("bus_bw")),
        wrong=_whole(way.get("nwrong")),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _root(value: object) -> int | None:
    """It is a text: "    -1"."""
    text = str(value).strip()
    return int(text) if INTEGER.fullmatch(text) else None


def _whole(value: object) -> int | None:
    """A count, which may be written as a text or a float."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 19 else None
    number = figure(value)
    return None if number is None else int(number)
