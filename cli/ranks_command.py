# SPDX-License-Identifier: Apache-2.0
"""Commands that start ranks: they pass their options on to the ranks. The options that such commands share."""

from typing import Annotated, Any

from railgauge.cli.help.command import HelpCommand, option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.machine_options import check_capture_name
from railgauge.cli.ranks_start import ranks_arguments
from railgauge.collectives.launch.launch import NAMES

RANKS, PLACE = "Ranks to start", "Place of a process that another launcher started"

RanksToStart = Annotated[
    int | None, option(RANKS, "--ranks", "-np", metavar="N", min=1, help="Start N ranks on this machine or the hosts.")
]
Launcher = Annotated[
    str, option(RANKS, "--launcher", metavar="|".join(NAMES), help="How to start them; ssh if hosts are named.")
]
Hostfile = Annotated[str, option(RANKS, "--hostfile", metavar="FILE", help="The hosts: an Open MPI or MPICH hostfile.")]
Hosts = Annotated[str, option(RANKS, "--hosts", metavar="HOSTS", help="The hosts: gpu[01-04] or gpu01:8,gpu02:8.")]
Variables = Annotated[
    list[str] | None,
    option(RANKS, "-x", "--export", metavar="NAME[=VALUE]", help="Set this variable for all ranks; repeatable."),
]
DryRun = Annotated[bool, option(RANKS, "--dry-run", help="Print the commands that would start them; run nothing.")]
InitMethod = Annotated[
    str, option(PLACE, "--init-method", metavar="URL", help="env://, tcp://HOST:PORT or file:///PATH.")
]
Rank = Annotated[int | None, option(PLACE, "--rank", metavar="R", min=0, help="The number of this process.")]
WorldSize = Annotated[int | None, option(PLACE, "--world-size", metavar="N", min=1, help="The number of processes.")]
LocalRank = Annotated[
    int | None, option(PLACE, "--local-rank", metavar="R", min=0, help="The number of this process on its host.")
]
SaveCapture = Annotated[
    str | None,
    option(
        ANSWER,
        "--save-capture",
        metavar="FILE",
        callback=check_capture_name,
        help="Save what the first rank of each node reads of it; --from FILE of other commands replays it.",
    ),
]
Fault = Annotated[
    str,
    option(
        "How to measure",
        "--fault",
        metavar="KIND:KEY=VALUE,...",
        help="Inject a fault: flip a bit or stall a rank, e.g. flip:rank=1,message=2 or stall:rank=1,seconds=5.",
    ),
]


class RanksCommand(HelpCommand):
    """The command; its context's `obj` is the command line for the ranks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Called by typer."""
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        ctx.obj = ranks_arguments(self.params, given)
        return super().parse_args(ctx, args)
