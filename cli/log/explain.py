# SPDX-License-Identifier: Apache-2.0
"""railgauge log explain: what a run left behind, as text: a flight record, which `run --record` writes."""

from typing import Annotated

import typer

from railgauge.cli.machine_options import Json
from railgauge.cli.output import print_json
from railgauge.topo.errors import InputError
from railgauge.topo.input_file import read_bytes

MOST_BYTES = 1 << 30
"""More than the record of 4096 ranks has."""


def explain(
    file: Annotated[str, typer.Argument(help="A flight record: what `railgauge run --record FILE` wrote.")],
    as_json: Json = False,
) -> None:
    """Say where all ranks stood when a run ended, who waited for whom, and what they had done before."""
    from railgauge.collectives.record import parse_record
    from railgauge.collectives.record_text import record_text

    data = read_bytes(file, MOST_BYTES)
    if not data.lstrip().startswith(b"{"):
        raise InputError(
            "is no flight record (what `railgauge run --record` writes); NCCL's logs are not read yet", file
        )
    if len(data) > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB: no flight record", file)
    record = parse_record(data, file)
    if as_json:
        print_json(record.to_json())
    else:
        print(record_text(record))
