# SPDX-License-Identifier: Apache-2.0
"""railgauge topo capture: the raw reads of this machine in one archive."""

import sys
from typing import Annotated

import typer

from railgauge.cli.machine_options import output as output_option
from railgauge.cli.machine_options import print_warnings
from railgauge.cli.output import write_bytes
from railgauge.topo.errors import UsageError


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
    from railgauge.topo.facts.capture import dumps
    from railgauge.topo.machine import record

    suffix = archive_suffix(output)
    recorded, warnings = record()
    print_warnings(warnings)
    if redacted or key is not None:
        import secrets

        from railgauge.topo.facts.redaction.pseudonym import derived_key
        from railgauge.topo.facts.redaction.redaction import redact

        recorded = redact(recorded, derived_key(key) if key is not None else secrets.token_bytes(32))
    write_bytes(output, dumps(recorded, suffix))


def archive_suffix(path: str) -> str:
    """The format by a file's name; a stream (/dev/stdout) gets .tar.zst. UsageError for other names."""
    from railgauge.topo.files.compression import WRITERS

    suffix = next((suffix for suffix in WRITERS if path.endswith(suffix)), None)
    if _is_terminal(path):
        raise UsageError(f"-o {path} is a terminal, but an archive is binary: name a file or a pipe")
    if suffix is None and not path.startswith("/dev/"):
        raise UsageError(f"-o {path}: use a name that ends in {' or '.join(WRITERS)}")
    return suffix or ".tar.zst"


def _is_terminal(path: str) -> bool:
    return path == "/dev/tty" or (path in ("/dev/stdout", "/dev/fd/1") and sys.stdout.isatty())
