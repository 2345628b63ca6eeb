# SPDX-License-Identifier: Apache-2.0
"""Releases of NCCL, and figures that changed from one to the next."""

import re
from typing import TypeAlias, TypeVar

from railgauge.topo.errors import UsageError

Release: TypeAlias = tuple[int, int, int]
T = TypeVar("T")
Since: TypeAlias = tuple[tuple[Release, T], ...]
"""Values, each with the first release that has it, the newest first."""

NEWEST: Release = (2, 30, 7)
"""The newest release that is modelled, and the one assumed where none is known."""
LAST = 999  # the patch of 2.18: any of them


def since(rows: Since[T], release: Release) -> T:
    """The value in a release; of a release before all rows the oldest."""
    return next((value for first, value in rows if release >= first), rows[-1][1])


def parse_release(text: str) -> Release:
    """A release such as 2.28.9, or 2.18 for the last of its series; UsageError for another form."""
    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", text.strip().partition("+")[0])
    if not found:
        raise UsageError(f"NCCL release {text!r}: expected a form like 2.28.9")
    major, minor, patch = found.groups()
    return int(major), int(minor), LAST if patch is None else int(patch)


def known_release(text: str | None) -> Release:
    """The release that is installed, or the newest where that is unknown or not a release."""
    try:
        return parse_release(text) if text else NEWEST
    except UsageError:
        return NEWEST


def release_text(release: Release) -> str:
    """A release as NCCL writes it."""
    major, minor, patch = release
    return f"{major}.{minor}" if patch == LAST else f"{major}.{minor}.{patch}"
