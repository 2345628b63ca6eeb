# SPDX-License-Identifier: Apache-2.0
"""Where the collector's archive starts: Python runs this file as its __main__.py.

`-m MODULE` runs a module out of the archive, as the children do that ask NVML, CUDA and libibverbs.
"""

import enum
import runpy
import sys

LOWEST = (3, 10)
"""The oldest Python: its classes of data have slots and fields by keyword."""


class StrEnum(str, enum.Enum):
    """What Python 3.11 calls so, for Python 3.10."""

    __str__ = str.__str__


def start() -> None:
    """Run a module of the archive, or the collector, whose status is the exit status."""
    if sys.version_info < LOWEST:
        version = ".".join(map(str, sys.version_info[:2]))
        sys.stderr.write("railgauge collector: it needs Python 3.10 or newer, and this is %s\n" % version)  # noqa: UP031
        sys.exit(3)
    vars(enum).setdefault("StrEnum", StrEnum)
    if sys.argv[1:2] == ["-m"]:
        module = sys.argv[2]
        del sys.argv[1:3]
        runpy.run_module(module, run_name="__main__")
        return
    from railgauge.cli.main import run_program

    def collect(args: list[str]) -> int:
        from railgauge.cli.collector.main import main  # here, where Ctrl-C ends it as everywhere

        return main(args)

    run_program(collect)


if __name__ == "__main__":
    start()
