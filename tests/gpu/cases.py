# SPDX-License-Identifier: Apache-2.0
"""The command line of programs that run one of their cases on GPUs, a thread for each rank."""

import argparse
from collections.abc import Callable, Iterable

from tests.transports.ranks import on_ranks

from railgauge.transports.bootstrap import Bootstrap


def run_case(cases: Iterable[str], body: Callable[[Bootstrap, str, int], None], *, ranks: int) -> None:
    """Run the case that is named, on `ranks` GPUs or as many as --ranks says; `body` gets the case and --hosts. What a
    rank raises is raised.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=cases)
    parser.add_argument("--ranks", type=int, default=ranks)
    parser.add_argument("--hosts", type=int, default=1)
    asked = parser.parse_args()
    for told in on_ranks(asked.ranks, lambda bootstrap: body(bootstrap, asked.case, asked.hosts), 60):
        if isinstance(told, BaseException):
            raise told
