# SPDX-License-Identifier: Apache-2.0
"""A table of nccl-tests or rccl-tests as a result of a run, which later runs are compared with; and a result as a
table, which is judged.
"""

from railgauge.collectives.device import Device
from railgauge.collectives.document import SCHEMA, RunDocument
from railgauge.collectives.engine import Engine
from railgauge.collectives.measure import Row, Timing
from railgauge.collectives.result_file import MOST_BYTES
from railgauge.topo.errors import UsageError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.jobs.tables.tables import read_tables
from railgauge.topo.nccl.settings.algorithm import Collective


def load_table(path: str, collective: Collective) -> RunDocument | None:
    """The result that the first table of a collective in a file is; None if it has no tables at all.

    Raises:
        InputError: it cannot be read. UsageError: its tables are of other collectives.
    """
    data = read_bytes(path, MOST_BYTES)
    if SCHEMA.encode() in data or not (tables := read_tables(data)):
        return None
    table = next((one for one in tables if one.collective is collective), None)
    if table is None:
        others = ", ".join(sorted({str(one.collective or one.test) for one in tables}))
        raise UsageError(f"--compare {path}: it has tables of {others}, not of {collective}")
    return RunDocument(
        collective=collective,
        ranks=table.ranks,
        nodes=table.nodes,
        device=Device.CUDA,
        rows=[row for each in table.rows if (row := _row(each))],
        connections=[],
        error=None,
        host=", ".join(dict.fromkeys(one.host for one in table.devices)),
        time="",
        command=[table.test],
        engine=Engine.NCCL,
    )


def _row(row: TableRow) -> Row | None:
    out = _timing(row.size, row.out_of_place)
    if out is None:
        return None
    return Row(
        bytes=row.size,
        count=0,
        dtype=row.dtype,
        redop=row.redop or "none",
        root=-1 if row.root is None else row.root,
        out_of_place=out,
        in_place=(_timing(row.size, row.in_place) if row.in_place else None) or out,
        algorithm=None,
        protocol=None,
        channels=None,
        predicted_busbw_gb_per_s=0.0,
    )


def _timing(size: int, way: Measurement) -> Timing | None:
    """Its algbw is that of the time: the column has two decimals, which small sizes do not reach."""
    if not way.time_us or way.busbw_gb_per_s is None:
        return None
    algbw = size / way.time_us / 1e3
    return Timing(time_us=way.time_us, algbw_gb_per_s=algbw, busbw_gb_per_s=way.busbw_gb_per_s, wrong=way.wrong)


def table_of(result: RunDocument) -> MeasuredTable:
    """The table that a run of a collective prints."""
    return MeasuredTable(
        program=Program.RAILGAUGE,
        release="",
        library=result.of_nccl.version if result.of_nccl else "",
        test=f"{result.collective}_perf",
        collective=Collective(result.collective),
        ranks=result.ranks,
        nodes=result.nodes,
        rows=tuple(
            TableRow(
                size=row.bytes,
                out_of_place=_measured(row.out_of_place),
                in_place=_measured(row.in_place),
                dtype=row.dtype,
                redop=row.redop,
                root=row.root,
            )
            for row in result.rows
        ),
        complete=True,
    )


def _measured(timing: Timing) -> Measurement:
    return Measurement(
        time_us=timing.time_us,
        algbw_gb_per_s=timing.algbw_gb_per_s,
        busbw_gb_per_s=timing.busbw_gb_per_s,
        wrong=timing.wrong,
    )
