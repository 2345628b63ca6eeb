# SPDX-License-Identifier: Apache-2.0
"""A typer program with 12 commands and two options each, to see what typer's start costs."""

import typer

app = typer.Typer()


def command(path: str, *, json: bool = False, output: str = "-") -> None:
    """Do nothing."""


for number in range(12):
    app.command(name=f"command{number}")(command)

if __name__ == "__main__":
    app()
