# SPDX-License-Identifier: Apache-2.0
"""railgauge topo capture: the raw reads of this machine in one archive."""

from typing import Annotated

import typer

from railgauge.cli.machine_options import print_warnings
from railgauge.cli.output import write_bytes


def capture(
    output: Annotated[str, typer.Option("-o", metavar="FILE", help="The archive to write, e.g. node.tar.gz.")],
) -> None:
    """Keep the raw reads of this machine in one small archive that replays anywhere with --from."""
    from railgauge.topo.machine import record
    from railgauge.topo.sources.capture import dumps

    recorded, warnings = record()
    print_warnings(warnings)
    write_bytes(output, dumps(recorded))
