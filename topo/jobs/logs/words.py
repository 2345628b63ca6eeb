# SPDX-License-Identifier: Apache-2.0
"""Hosts and releases of a log in a few words."""

from collections.abc import Iterable

MOST_HOSTS = 4


def named(hosts: Iterable[str]) -> str:
    """Hosts in a few words; the log's host where it names none."""
    known = sorted(host for host in hosts if host)
    more = f" and {len(known) - MOST_HOSTS} more" if len(known) > MOST_HOSTS else ""
    return ", ".join(known[:MOST_HOSTS]) + more if known else "the log's host"


def numbers(release: str) -> tuple[int, ...]:
    """(2, 21, 5) of NCCL 2.21.5."""
    return tuple(int(part) for part in release.rpartition(" ")[2].split("."))
