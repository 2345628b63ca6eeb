# SPDX-License-Identifier: Apache-2.0
"""railgauge watch: checks this node again and again, and says what changes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from railgauge.cli.findings_output import FailOn, Only, Skip, leave_with
from railgauge.cli.help.command import app_of, option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.machine_options import From, print_warnings
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.streams import tell
from railgauge.topo.errors import Error, UsageError
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.duration import seconds

if TYPE_CHECKING:
    from railgauge.topo.facts.named_source import Source
    from railgauge.topo.findings.node.history import FindingEvent
    from railgauge.topo.findings.node.rule import ComparisonRule, Rule
    from railgauge.topo.machine import Machine

COMMAND_S = 60.0
"""Time limit of --on-change."""
MOST_OUTPUT = 2000
"""Characters of its stderr that are shown."""


def _interval(text: str) -> float:
    """The seconds of --every; UsageError if it is no time above 0."""
    try:
        found = seconds(text)
    except ValueError as error:
        raise UsageError(f"--every {error}") from None
    if found <= 0:
        raise UsageError(f"--every {text!r}: give more than 0")
    return found


@dataclass(frozen=True, slots=True)
class Look:
    """One check of the node. taken_s: when, of a clock that only goes forward."""

    machine: "Machine"
    findings: tuple[Finding, ...]
    taken_s: float


def watch(
    source: From = None,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="The time between checks: 30s, 5m, 1h.")
    ] = "60s",
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", min=1, help="End after N checks.", show_default="no end")
    ] = None,
    output: Annotated[str | None, output_option("Write metrics to this file after each check: FILE.prom.")] = None,
    on_change: Annotated[
        str | None,
        typer.Option("--on-change", metavar="CMD", help="Run this shell command after a change; its stdin is JSON."),
    ] = None,
    only: Only = None,
    skip: Skip = None,
    as_json: Annotated[
        bool, option(ANSWER, "--json", help="Print one JSON document on one line for each check with changes.")
    ] = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Check this node again and again; print what is new, worse, better or gone, and what comes and goes.

    Error counters are compared with those of the check before, so that their rates cover the whole time.

    Ends with Ctrl-C, or after --count checks with the status of the last one, as check does.

    Examples:
        railgauge watch --every 5m --on-change 'logger -t railgauge'
        railgauge watch -o /var/lib/node_exporter/textfile/railgauge.prom
    """
    from railgauge.topo.findings.node.history import FindingHistory
    from railgauge.topo.findings.node.rule import ASKING
    from railgauge.topo.findings.node.rules import chosen

    if output is not None and not output.endswith(".prom"):
        raise UsageError(f"-o {output}: give a name that ends in .prom")
    every_s = _interval(every)
    history = FindingHistory()
    before: Look | None = None
    for look in _looks(source, chosen(only or (), skip or (), ASKING), every_s, count):
        events = history.events(look.findings, look.taken_s)
        _show(look, events, every_s, is_first=before is None, as_json=as_json)
        if output is not None:
            _write(output, look, before, history.total)
        if events and before is not None and on_change is not None:
            _run(on_change, _document(look, events))
        before = look
    if before is not None:
        leave_with(before.findings, fail_on)


app = app_of(watch)


def _looks(
    source: "Source", rules: "Sequence[Rule | ComparisonRule]", every_s: float, count: int | None
) -> Iterator[Look]:
    """The checks. Errors of the first one end the command; later ones are reported, and the node is checked again."""
    due = time.monotonic()
    done = 0
    before: Look | None = None
    while count is None or done < count:
        time.sleep(max(0.0, due - time.monotonic()))
        due = max(due + every_s, time.monotonic())
        try:
            look = _look(source, rules, before)
        except Error as error:
            if done == 0:
                raise
            tell(f"railgauge watch: {error}: checking again in {every_s:g} s")
        else:
            before = look
            yield look
        done += 1


def _look(source: "Source", rules: "Sequence[Rule | ComparisonRule]", before: Look | None) -> Look:
    """A check of the node as it is, and of its counters since the check before; the first one takes two readings."""
    from railgauge.topo.facts.two_readings import paired, take_counters
    from railgauge.topo.findings.node.rules import check
    from railgauge.topo.machine import load_machine

    machine = load_machine(source, tolerant=True)
    if machine.facts is not None:
        take_counters(machine.facts)
    taken_s = time.monotonic()
    examined = machine
    if before is None:
        print_warnings(machine.warnings)
    elif machine.facts is not None and before.machine.facts is not None:
        examined = machine.like(facts=paired(before.machine.facts, machine.facts, taken_s - before.taken_s))
    return Look(machine, check(examined, rules), taken_s)


def _show(look: Look, events: "Sequence[FindingEvent]", every_s: float, *, is_first: bool, as_json: bool) -> None:
    from railgauge.cli.json_text import json_text
    from railgauge.cli.output import print_lines
    from railgauge.topo.render.watch import event_lines, first_line

    if as_json:
        if events or is_first:
            print(json_text(_document(look, events), indent=None), flush=True)
        return
    if is_first:
        print_lines([first_line(look.machine.host, look.findings, every_s)])
    print_lines(event_lines(events, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())))
    sys.stdout.flush()


def _document(look: Look, events: "Sequence[FindingEvent]") -> dict[str, Any]:
    from railgauge.cli.output import document
    from railgauge.topo.render.watch import event_records

    return document("watch", look.machine.host, events=event_records(events))


def _write(path: str, look: Look, before: Look | None, changes: int) -> None:
    """Write the metrics; a file that cannot be written is reported and tried again after the next check."""
    from railgauge.topo.files.output_file import write_file
    from railgauge.topo.render.findings_metrics import dumps

    rising = {} if before is None else _rates(before, look)
    text = dumps(look.findings, look.machine.host, round(time.time(), 3), rates=rising, changes=changes)
    try:
        write_file(path, text.encode())
    except Error as error:
        if before is None:
            raise
        tell(f"railgauge watch: {error}")


def _rates(before: Look, now: Look) -> dict[tuple[str, str], float]:
    from railgauge.topo.facts.two_readings import rates

    first, second = before.machine.facts, now.machine.facts
    if first is None or second is None:
        return {}
    return rates(first, second, max(now.taken_s - before.taken_s, 1e-3))


def _run(command: str, content: dict[str, Any]) -> None:
    """Run --on-change with the document on stdin; a failure is reported, and the watch goes on.

    stdin is a file: writing to a pipe that the command does not read would end the watch by SIGPIPE.
    """
    from railgauge.cli.json_text import json_text

    environment = os.environ | {"RAILGAUGE_HOST": content["host"], "RAILGAUGE_EVENTS": str(len(content["events"]))}
    try:
        with TemporaryFile() as given:
            given.write(json_text(content).encode())
            given.seek(0)
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                stdin=given,
                text=True,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                errors="replace",
                timeout=COMMAND_S,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        tell(f"railgauge watch: --on-change: {error}")
        return
    if done.returncode:
        tell(f"railgauge watch: --on-change ended with {done.returncode}: {done.stderr[:MOST_OUTPUT]}")
