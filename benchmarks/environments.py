# SPDX-License-Identifier: Apache-2.0
"""Virtual environments of the programs that are measured, one each: the two MPIs overwrite each other's launcher."""

import pathlib
import subprocess
import sys

FOLDER = pathlib.Path("build/bench").absolute()


def environment(name: str, *requirements: str) -> pathlib.Path:
    """The folder of a virtual environment with these packages, made if it is not there."""
    folder = FOLDER / name
    stamp = folder / ".requirements"
    wanted = "\n".join(requirements)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {' '.join(requirements)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*install, *requirements], check=True)
        stamp.write_text(wanted)
    return folder


def compiled(source: pathlib.Path, name: str, compiler: pathlib.Path | str, *flags: str) -> pathlib.Path:
    """The program that a C file makes with this compiler."""
    program = FOLDER / name
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([compiler, "-O3", "-Wall", "-Wextra", "-o", program, source, *flags], check=True)
    return program
