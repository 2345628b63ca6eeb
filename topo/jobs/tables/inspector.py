# SPDX-License-Identifier: Apache-2.0
"""Records of NCCL's Inspector plugin (plugins/profiler/inspector), one JSON object a line: an operation of one rank.

A table holds the operations of one kind of one rank of a communicator, in the order of the file. The message is count
times type: of AllGather and ReduceScatter one rank's share, of which bandwidths count all. GB/s are 1e9 bytes/s.
"""

from collections.abc import Mapping
from typing import Any

from railgauge.topo.jobs.tables.documents import figure
from railgauge.topo.jobs.tables.draft import Drafts, DraftTable, collective_named
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow
from railgauge.topo.nccl.settings.algorithm import Collective

SHARES = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
KINDS = (("coll_perf", "coll"), ("p2p_perf", "p2p"))
MOST = 1 << 12


class InspectorReader:
    """Tables of Inspector out of its records in their order."""

    def __init__(self) -> None:
        self._drafts = Drafts(Program.INSPECTOR)
        self._tables: dict[tuple[str, str, str], DraftTable] = {}

    def tables(self) -> list[MeasuredTable]:
        """Those that have rows. A run may go on after the last record: no table is complete."""
        return self._drafts.tables()

    def take_document(self, document: Mapping[str, Any], number: int) -> bool:
        """Take in a record; False if it is another program's."""
        for key, prefix in KINDS:
            if isinstance(operation := document.get(key), Mapping):
                self._operation(document, operation, prefix, number)
                return True
        return False

    def _operation(self, document: Mapping[str, Any], operation: Mapping[str, Any], prefix: str, number: int) -> None:
        names = ("msg_size_bytes", "exec_time_us", "algobw_gbs", "busbw_gbs")
        size, time, algbw, busbw = (figure(operation.get(f"{prefix}_{name}")) for name in names)
        name = operation.get(prefix)
        if size is None or time is None or not isinstance(name, str):
            return
        header = document.get("header")
        header = header if isinstance(header, Mapping) else document
        key = str(header.get("id"))[:64], str(header.get("rank"))[:16], name[:32]
        table = self._tables.get(key)
        if table is None and len(self._tables) < MOST:
            table = self._tables[key] = self._drafts.begin(number)
            self._describe(table, header, document.get("metadata"), name[:32])
        if table:
            way = Measurement(time_us=time, algbw_gb_per_s=algbw, busbw_gb_per_s=busbw)
            table.add(TableRow(size=int(size), out_of_place=way))

    def _describe(self, table: DraftTable, header: Mapping[str, Any], metadata: object, name: str) -> None:
        table.test, table.collective = name, collective_named(name)
        table.ranks = int(figure(header.get("n_ranks")) or 0)
        table.nodes = int(figure(header.get("nnodes")) or 0)
        table.sizes_are_shares = table.collective in SHARES
        table.gpu_memory = True
        if isinstance(metadata, Mapping):
            table.release = str(metadata.get("inspector_output_format_version", ""))[:16].removeprefix("v")
        table.detail = f"rank {header.get('rank')} of {header.get('comm_name') or header.get('id')}"[:128]
