# SPDX-License-Identifier: Apache-2.0
"""railgauge env: the NCCL settings in force on a machine, and the effect of each."""

from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.findings_output import leave_if_failed
from railgauge.cli.machine_options import HELP_OPTIONS, From, Json, SaveCapture, open_machine
from railgauge.cli.output import document, print_json
from railgauge.topo.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from railgauge.topo.facts.sources.nccl_settings import Setting
    from railgauge.topo.findings.settings.judgement import Judgement
    from railgauge.topo.findings.settings.selection import Selection

app = typer.Typer(add_completion=False, context_settings=HELP_OPTIONS)


@app.command()
def env(
    source: From = None,
    save: SaveCapture = None,
    asked: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Also judge this setting, as if it were set; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the NCCL settings in force, their origin, their effect on this machine, and whether each helps."""
    from railgauge.topo.findings.node.case import Case
    from railgauge.topo.findings.settings.judgement import judge
    from railgauge.topo.findings.settings.selection import select

    given = tuple(_setting(text) for text in asked or ())
    machine = open_machine(source, save=save)
    recorded = Case(machine)
    if recorded.inventory is None:
        raise UnavailableError("env needs a machine or a capture: a topology file has neither settings nor devices")
    names = [setting.name for setting in given]
    kept = tuple(setting for setting in recorded.known_settings if setting.name not in names)
    case = Case(machine, settings=(*kept, *given))
    judged = [judge(case, setting) for setting in case.known_settings]
    now, unset = select(case, case.settings), select(case, {})
    if as_json:
        settings = [one.record() for one in judged]
        content = {"settings": settings, "selects": now.record(), "unset": unset.record()}
        print_json(document("env", machine.host, known=recorded.inventory.settings is not None, **content))
    else:
        _print(judged, now, known=recorded.inventory.settings is not None)
    leave_if_failed([one.failure for one in judged if one.failure])


def _setting(text: str) -> "Setting":
    from railgauge.topo.facts.sources.nccl_settings import ASKED, Setting

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--set {text!r}: expected NAME=VALUE, e.g. NCCL_IB_HCA=mlx5")
    return Setting(name=name, value=value, origin=ASKED)


def _print(judged: "list[Judgement]", now: "Selection", *, known: bool) -> None:
    from railgauge.topo.findings.settings.verdict import Verdict

    for one in judged:
        finding = f" [{one.opinion.finding}]" if one.opinion.finding else ""
        print(f"{one.setting.name}={one.setting.value} ({one.setting.origin}): {one.opinion.verdict}{finding}")
        print(f"    {one.opinion.why}")
        if one.without and one.opinion.verdict is not Verdict.HARMLESS:
            print(f"    without it: {one.without}")
    if not known:
        print("Environment not recorded: only /etc/nccl.conf and --set are shown.")
    elif not judged:
        print("No NCCL setting is in force.")
    interfaces = "unknown" if now.interfaces is None else ", ".join(now.interfaces) or "none"
    print(f"Interfaces (bootstrap uses the first): {interfaces}")
    for port in now.ports:
        gid = "" if port.gid_index is None else f"GID {port.gid_index} ({port.gid or 'empty'}), "
        print(f"RDMA port {port.name}: {gid}{port.why}")
    if not now.ports:
        print("RDMA ports: none, data between nodes uses sockets")
