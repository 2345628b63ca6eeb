# SPDX-License-Identifier: Apache-2.0
"""railgauge topo capture: the raw reads of this machine in one archive."""

from typing import Annotated

import typer

from railgauge.cli.machine_options import output as output_option
from railgauge.cli.machine_options import print_warnings
from railgauge.cli.output import write_bytes


def capture(
    output: Annotated[str, output_option("The archive: node.tar.zst, node.tar.gz, or /dev/stdout.")],
    redacted: Annotated[
        bool, typer.Option("--redact", help="Replace names, addresses, GUIDs, UUIDs and serial numbers by pseudonyms.")
    ] = False,
    key: Annotated[
        str | None,
        typer.Option(
            "--redact-key",
            metavar="TEXT",
            envvar="RAILGAUGE_REDACT_KEY",
            help="Use the same pseudonyms in all captures with this key; implies --redact.",
        ),
    ] = None,
) -> None:
    """Save the raw reads of this machine in one small archive; --from replays it anywhere.

    Examples:
        railgauge topo capture -o node.tar.zst
        railgauge topo capture --redact -o odd.tar.zst
    """
    from railgauge.cli.topo.archive import archive_suffix, packed_capture
    from railgauge.topo.files.compression import WRITERS

    suffix = archive_suffix(output, tuple(WRITERS))
    packed = packed_capture(suffix, redacted=redacted, key=key)
    print_warnings(packed.warnings)
    write_bytes(output, packed.data)
