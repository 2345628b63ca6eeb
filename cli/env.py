# SPDX-License-Identifier: Apache-2.0
"""railgauge env: the NCCL settings in force on a machine, and the effect of each."""

from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.findings_output import leave_with
from railgauge.cli.help.command import app_of
from railgauge.cli.machine_options import From, Json, SaveCapture, name_of, open_machine, print_warnings
from railgauge.cli.output import document, print_json, print_lines
from railgauge.topo.errors import InputError, UnavailableError, UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railgauge.topo.facts.sources.nccl_settings import Setting

MOST = 4 << 20
"""Bytes of a text with settings."""


def env(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Judge what these texts set, as if it were set: scripts, Dockerfiles, manifests, commands, nccl.conf.",
        ),
    ] = None,
    source: From = None,
    save: SaveCapture = None,
    asked: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Judge this setting as well, as if it were set; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the NCCL settings in force, their origin, their effect on this machine, and whether each helps.

    Examples:
        railgauge env
        railgauge env --set NCCL_IB_GID_INDEX=3 --from @hgx-h100-gid-holes
        railgauge env job.sbatch --from @dgx-h100
    """
    from railgauge.topo.findings.settings.judgement import judge
    from railgauge.topo.findings.settings.selection import select
    from railgauge.topo.render.header import machine_lines
    from railgauge.topo.render.palette import line
    from railgauge.topo.render.settings import settings_document, settings_lines

    given = (*_written(files or ()), *(_setting(text) for text in asked or ()))
    machine = open_machine(source, save=save)
    if machine.facts is None:
        raise UnavailableError("env needs a machine or a capture: a topology file has neither settings nor devices")
    names = [setting.name for setting in given]
    kept = tuple(setting for setting in machine.known_settings if setting.name not in names)
    known = machine.facts.settings is not None
    machine = machine.under((*kept, *given))
    judged = [judge(machine, setting) for setting in machine.known_settings]
    now, unset = select(machine, machine.settings), select(machine, {})
    if as_json:
        print_json(document("env", machine.host, **settings_document(judged, now, unset, known=known)))
    else:
        print_lines(machine_lines(machine, name_of(source)))
        print_lines(map(line, settings_lines(judged, now, known=known)))
    leave_with([one.opinion.failure for one in judged if one.opinion.failure], Level.FAIL, counted=())


app = app_of(env)


def _written(paths: "Sequence[str]") -> "list[Setting]":
    """What texts set; the last counts."""
    from railgauge.topo.facts.written_settings import written_settings
    from railgauge.topo.files.input_file import read_bytes

    found: dict[str, Setting] = {}
    for path in paths:
        settings, computed = written_settings(read_bytes(path, MOST, packed=True), path)
        if not settings and not computed:
            raise InputError("sets nothing that NCCL or a program that runs with it reads", path)
        if computed:
            print_warnings((f"{path}: computes the values of {', '.join(computed)}: not judged",))
        found |= {one.name: one for one in settings}
    return list(found.values())


def _setting(text: str) -> "Setting":
    from railgauge.topo.facts.sources.nccl_settings import ASKED, Setting

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--set {text!r}: expected NAME=VALUE, e.g. NCCL_IB_HCA=mlx5")
    return Setting(name=name, value=value, origin=ASKED)
