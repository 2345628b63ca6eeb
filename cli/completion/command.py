# SPDX-License-Identifier: Apache-2.0
"""railgauge completion: the script for a shell, and what the script asks for."""

from typing import Annotated

import typer

from railgauge.cli.completion.scripts import SCRIPTS
from railgauge.cli.help.command import app_of
from railgauge.topo.errors import UsageError
from railgauge.topo.values.near import did_you_mean


def completion(
    shell: Annotated[
        str | None, typer.Argument(metavar="bash|zsh|fish", help="The shell to print the script for.")
    ] = None,
    line: Annotated[str | None, typer.Option("--line", metavar="LINE", hidden=True)] = None,
    breaks: Annotated[str, typer.Option("--breaks", metavar="CHARACTERS", hidden=True)] = "",
) -> None:
    """Print the completion script for a shell: commands, options, machines, devices, finding ids and files.

    Completion reads names in /sys and the machine that --from names; it asks no driver and no other host.

    Examples:
        source <(railgauge completion bash)
        railgauge completion fish > ~/.config/fish/completions/railgauge.fish
    """
    if line is not None:
        from railgauge.cli.completion.line import complete_line

        for one in complete_line(line, breaks):
            print("\t".join(one))
        return
    if shell not in SCRIPTS:
        given = f"unknown shell {shell!r}{did_you_mean(shell, SCRIPTS)}" if shell else "no shell given"
        raise UsageError(f"{given}: use one of {', '.join(SCRIPTS)}")
    print(SCRIPTS[shell], end="")


app = app_of(completion)
