# SPDX-License-Identifier: Apache-2.0
"""railgauge tune nccl: stock NCCL with each of its settings in turn, beside its own choice."""

import os
import shlex
import subprocess
import sys
from enum import StrEnum
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, TYPE_CHECKING, Annotated

import typer

from railgauge.cli import everywhere
from railgauge.cli.help.command import option
from railgauge.cli.json_text import json_text
from railgauge.cli.machine_options import Json
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import check_folders, document, print_json, print_lines, write_text
from railgauge.cli.streams import tell
from railgauge.topo.errors import Error, InputError, RunError, UnavailableError, UsageError, VerificationError
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.values.printable import one_line

if TYPE_CHECKING:
    from railgauge.collectives.document import RunDocument
    from railgauge.collectives.nccl_sweep import BySize, NcclWay

SIZES, HOW = "Sizes", "How to measure"
OURS = ("--engine", "--json", "-J", "--output_file", "--tune", "--trace", "--compare", "--record", "--dry-run")
"""Options of `run` that the sweep sets, or that give no times."""
LOGGED = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,TUNING"}
"""Makes NCCL log the algorithm, protocol and channels of each operation, which takes time."""
ONCE = ("-n", "1", "-w", "0")
LIMIT_S = 3600.0
"""For one run; its own -T ends one that hangs much earlier."""
SAYS, MOST_WORDS = "railgauge run: ", 64 << 10
BY_STATUS: dict[int, type[Error]] = {one.exit_status: one for one in (UsageError, UnavailableError, InputError)}


class TunedCollective(StrEnum):
    """Those for which NCCL has a choice of algorithms (`OF_ALGORITHM` of the sweep)."""

    ALL_REDUCE = Collective.ALL_REDUCE
    ALL_GATHER = Collective.ALL_GATHER
    REDUCE_SCATTER = Collective.REDUCE_SCATTER
    BROADCAST = Collective.BROADCAST
    REDUCE = Collective.REDUCE


def nccl(
    collective: Annotated[
        TunedCollective, typer.Argument(metavar="COLLECTIVE", help=f"One of {', '.join(TunedCollective)}.")
    ],
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPTION", help="Options of railgauge run, after --: -g 8, --hosts gpu[01-02], -n 50."),
    ] = None,
    begin: Annotated[str, option(SIZES, "-b", "--minbytes", metavar="SIZE", help="The smallest size.")] = "1K",
    end: Annotated[str, option(SIZES, "-e", "--maxbytes", metavar="SIZE", help="The largest size.")] = "1G",
    factor: Annotated[
        float, option(SIZES, "-f", "--stepfactor", metavar="X", min=1.01, help="Multiply by this for the next size.")
    ] = 4.0,
    turns: Annotated[
        int | None,
        option(HOW, "--turns", metavar="N", min=5, show_default="9", help="At most so many runs with a setting."),
    ] = None,
    output: Annotated[str | None, output_option("Write the JSON document to FILE as well.")] = None,
    as_json: Json = False,
) -> None:
    """Measure algorithms, protocols and numbers of channels in turn with NCCL's own choice, until gains stand out.

    Each is a `railgauge run --engine nccl` with NCCL's variables set. A gain counts if it is 5 % or more and each of at
    least five runs is faster than every run with NCCL's choice. `railgauge nccl run --tune FILE` applies the file of -o
    to a job, each gain at its size.

    Examples:
        railgauge tune nccl all_reduce -b 1M -e 1G -- -g 8
        railgauge tune nccl all_gather --json -o gains.json -- -g 8 --hosts gpu[01-02]
    """
    from railgauge.collectives.nccl_sweep import MOST, VARIABLES, sweep
    from railgauge.collectives.report.nccl_sweep import sweep_document, sweep_lines

    if taken := [word for word in more or () if word.partition("=")[0] in OURS]:
        raise UsageError(f"{', '.join(taken)}: the sweep reads the results itself; leave it out")
    if given := [name for name in VARIABLES if os.environ.get(name)]:
        raise UsageError(f"{', '.join(given)} is set, and the sweep sets it itself: unset it first")
    if output is not None:
        check_folders([output])
    run = NcclRuns(["run", collective, "--engine", "nccl", "-b", begin, "-e", end, "-f", f"{factor:g}", *(more or ())])
    found = sweep(Collective(collective), run.measure, lambda line: tell(f"railgauge tune: {line}"), turns or MOST)
    assert run.last is not None
    facts = {"collective": str(collective), "ranks": run.last.ranks, "nodes": run.last.nodes}
    facts |= {"nccl": run.version, "gpus": run.gpus}
    answer = document("nccl-tuning", run.last.host, **facts, **sweep_document(found))
    if output is not None:
        write_text(output, json_text(answer) + "\n")
    if as_json:
        print_json(answer)
    else:
        nodes = f"{run.last.nodes} node{'s' * (run.last.nodes > 1)}"
        what = f"{collective}, {run.last.ranks} ranks, {nodes}, NCCL {run.version or 'of unknown release'}"
        print_lines(sweep_lines(found, what))


class NcclRuns:
    """Runs of one command with settings; `last` is the newest result, `version` NCCL's release in it, and `gpus` the
    names of the GPUs.
    """

    def __init__(self, words: list[str]) -> None:
        self._command = [sys.executable, "-P", "-m", "railgauge", *everywhere.given(), *words]
        self.last: RunDocument | None = None
        self.version: str | None = None
        self.gpus: list[str] = []

    def measure(self, way: "NcclWay", logged: bool) -> "BySize":
        """One run; `logged`: each size once, for what NCCL chooses. Error as of `run`."""
        from railgauge.collectives.document import SCHEMA
        from railgauge.collectives.launch.launch import WORSE
        from railgauge.collectives.nccl_sweep import NcclTime
        from railgauge.collectives.result_file import load, load_document

        with TemporaryDirectory() as folder, TemporaryFile() as log:
            path = os.path.join(folder, "result.json")
            done = self._run([*(ONCE if logged else ()), "-J", path], way.environment | (LOGGED if logged else {}), log)
            if done.returncode not in (0, WORSE):  # a setting may well be slower than the forecast
                words = _last_words(log) or f"ended with status {done.returncode}"
                if _has_wrong_data(path):
                    raise VerificationError(f"{way.words}: {words}")
                raise BY_STATUS.get(done.returncode, RunError)(words)
            self.last = load(path)
            of_nccl = load_document(path, SCHEMA, "a result of a run", "run").get("nccl") or {}
            self.version, self.gpus = of_nccl.get("version"), of_nccl.get("gpus", [])
        return {
            row.bytes: NcclTime(
                row.out_of_place.time_us, row.out_of_place.busbw_gb_per_s, row.algorithm, row.protocol, row.channels
            )
            for row in self.last.rows
            if row.out_of_place.time_us > 0
        }

    def _run(
        self, more: list[str], settings: dict[str, str], stderr: IO[bytes]
    ) -> "subprocess.CompletedProcess[bytes]":
        try:
            return subprocess.run(
                [*self._command, *more],
                env=os.environ | settings,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"{shlex.join(self._command)}: no end in {LIMIT_S:g} s") from None


def _has_wrong_data(path: str) -> bool:
    """Whether the result of a run, if it got as far as one, has wrong elements."""
    from railgauge.collectives.result_file import load

    try:
        return any(way.wrong for row in load(path).rows for way in (row.out_of_place, row.in_place))
    except InputError:
        return False


def _last_words(log: IO[bytes]) -> str:
    """The last line of railgauge's own: NCCL's log is around it."""
    log.seek(max(0, log.seek(0, os.SEEK_END) - MOST_WORDS))
    lines = log.read().decode(errors="replace").splitlines()
    own = [line for line in lines if line.startswith(SAYS)]
    return one_line(own[-1].removeprefix(SAYS)) if own else ""
