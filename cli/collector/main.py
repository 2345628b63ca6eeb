# SPDX-License-Identifier: Apache-2.0
"""The collector's command line: `capture` and `check` with the standard library alone.

They are those of railgauge, made of the same functions; what needs the parts that are left out says so.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any

from railgauge import __version__
from railgauge.cli import everywhere
from railgauge.cli.findings_status import error_lines, status_of_findings
from railgauge.cli.main import with_errors_told
from railgauge.cli.output import document, print_json, write_bytes
from railgauge.cli.streams import guard_streams, tell
from railgauge.cli.topo.archive import archive_suffix, packed_capture
from railgauge.topo.errors import LeftOutError
from railgauge.topo.findings.finding import Finding, Level

LEFT_OUT = {
    "railgauge._native": "the collector has no search for channels",
    "lxml": "the collector reads no topology files",
    "zstandard": "the collector writes no .tar.zst: name a .tar.gz",
}
"""The modules that are not there, and what that means."""
NOTICE = (
    "predicted effects (no search for channels) and topology files (no lxml) are left out: "
    "make a capture, and run railgauge check --from FILE where railgauge is installed"
)
GZIP = ".tar.gz"
LEVELS = ("INFO", "WARN", "FAIL", "UNKNOWN")


class LeftOut(MetaPathFinder):
    """The last to be asked for a module: says what it means that one is left out."""

    def find_spec(self, name: str, *_: Any) -> None:
        """LeftOutError for a module that is left out."""
        if name in LEFT_OUT:
            raise LeftOutError(LEFT_OUT[name])


def main(args: Sequence[str]) -> int:
    """Run a command line (without the program's name) and return its exit status, which is that of railgauge."""
    sys.meta_path.append(LeftOut())
    guard_streams()

    def run() -> int:
        given = _parser().parse_args(everywhere.take(args))
        return int(given.run(given))

    return with_errors_told("", run)


def _parser() -> argparse.ArgumentParser:
    about = f"Read this machine. {NOTICE[0].upper()}{NOTICE[1:]}."
    parser = argparse.ArgumentParser(prog="railgauge-collector", description=about)
    parser.add_argument("--version", action="version", version=f"railgauge collector {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    capture = commands.add_parser(
        "capture", allow_abbrev=False, help="Save the raw reads of this machine in one small archive."
    )
    capture.set_defaults(run=_capture)
    capture.add_argument("-o", "--output", required=True, help="The archive: node.tar.gz, or /dev/stdout.")
    capture.add_argument("--redact", action="store_true", help="Replace what identifies the machine by pseudonyms.")
    capture.add_argument(
        "--redact-key",
        metavar="TEXT",
        default=os.environ.get("RAILGAUGE_REDACT_KEY"),
        help="Use the same pseudonyms in all captures with this key; implies --redact.",
    )
    check = commands.add_parser(
        "check", allow_abbrev=False, help="Find the problems of this machine before a job hits them."
    )
    check.set_defaults(run=_check)
    check.add_argument("-r", "--level", type=int, choices=(1, 2), default=1, help="2 also queries the machine.")
    check.add_argument("--only", action="append", default=[], metavar="ID", help="Check only ID or ID,ID...")
    check.add_argument("--skip", action="append", default=[], metavar="ID", help="Leave out ID or ID,ID...")
    check.add_argument("--json", action="store_true", help="Print one JSON document.")
    check.add_argument("-v", "--verbose", action="store_true", help="Show what passed and what is unknown.")
    check.add_argument(
        "--fail-on", type=str.upper, choices=LEVELS, default="WARN", help="Exit with status 1 at this level or worse."
    )
    return parser


def _capture(given: argparse.Namespace) -> int:
    suffix = archive_suffix(given.output, (GZIP,))
    packed = packed_capture(suffix, redacted=given.redact, key=given.redact_key)
    _warn(packed.warnings)
    write_bytes(given.output, packed.data)
    return 0


def _check(given: argparse.Namespace) -> int:
    from railgauge.topo.findings.node.rules import check, chosen
    from railgauge.topo.machine import load_machine
    from railgauge.topo.render.check import check_document, check_lines
    from railgauge.topo.render.findings import Detail
    from railgauge.topo.render.palette import text_of

    rules = chosen(given.only, given.skip, given.level, "check -v shows all ids")
    machine = load_machine(tolerant=True)
    _warn(machine.warnings)
    findings = check(machine, rules)
    if given.json:
        print_json(document("findings", machine.host, **check_document(findings)))
    else:
        detail = Detail.FULL if given.verbose else Detail.USUAL
        for shown in check_lines(machine, findings, name="this machine", detail=detail):
            print(text_of(shown))
    _warn((NOTICE,))
    return _status(findings, Level(given.fail_on))


def _status(findings: Sequence[Finding], fail_on: Level) -> int:
    _warn(tuple(error_lines(findings)))
    return status_of_findings(findings, fail_on)


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        tell(f"railgauge: {warning}")
