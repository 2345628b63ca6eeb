# SPDX-License-Identifier: Apache-2.0
"""The help of `railgauge` itself: a line for each command."""

from railgauge.cli.everywhere import ROWS
from railgauge.cli.help.page import COMMANDS as TITLE
from railgauge.cli.help.page import EVERYWHERE, NO_BREAK, HelpPage
from railgauge.cli.main import COMMANDS

ABOUT = "GPU-cluster topology and interconnect diagnostics as NCCL sees them, proved by measured collectives."
INTERNAL = "70 an error of railgauge itself".replace(" ", NO_BREAK)
STATUSES = (
    "Exit status: 0 good; 1 findings; 2 usage; 3 a device, library or permission is missing; 4 verification or "
    f"measurement failed; 5 bad input; {INTERNAL}; 130 interrupted."
)
VERSION = ("--version", "Show the version and exit.")


def first_page() -> HelpPage:
    """The page."""
    return HelpPage(
        usage="railgauge COMMAND [OPTIONS]",
        paragraphs=(ABOUT,),
        sections=(
            (TITLE, tuple((name, line) for name, (_, line) in COMMANDS.items())),
            (EVERYWHERE, (VERSION, *ROWS)),
        ),
        examples=("railgauge check", "railgauge topo show --from @dgx-h100", "railgauge run --help"),
        ending=STATUSES,
    )
