# SPDX-License-Identifier: Apache-2.0
"""Folds and unfolds names of nodes (gpu[001-003]) in the syntax of ClusterShell's NodeSet.

The only caller of NodeSet: a group source of ClusterShell may put a group's name into a shell command, and a range is
expanded in memory.
"""

import math
import re
from collections.abc import Iterable
from typing import Any

from railgauge.topo.errors import UsageError
from railgauge.topo.values.number import natural

NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?")
"""A valid host name, which no shell expands and no program takes for an option."""
PLAIN = re.compile(r"([A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9._-]*")  # NodeSet reads nothing else into it
LONG_NUMBER = re.compile(r"[0-9]{10}")  # not part of any range
GROUP = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:-]*")
OPERAND = re.compile(r"(?:\[[^\]]*(?:\]|$)|[^,!&^\[])+")
RANGES = re.compile(r"(?<![0-9])([0-9]*)\[([^\[\]]*)\]")
LONGEST_LIST = 1 << 20
"""Most characters of a list: NodeSet copies the rest of it at each operator."""
RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18})(?:/([1-9][0-9]{0,17}))?)?")


def folded(names: Iterable[str]) -> str:
    """The names folded into one text, in natural order; names that fit no range are listed one by one."""
    names = sorted(set(names), key=natural)
    plain = [name for name in names if PLAIN.fullmatch(name) and not LONG_NUMBER.search(name)]
    others = [name for name in names if name not in set(plain)] if len(plain) < len(names) else []
    return ",".join(filter(None, [_range(plain), *others]))


def _range(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))


def unfolded(text: str, most: int) -> list[str]:
    """The names in a list with ranges, operators of NodeSet and groups: `gpu[001-064]`, `@rack1!gpu007`.

    Raises:
        UsageError: the list is invalid, names more than `most` nodes, or has a group name that is unsafe in a shell.
    """
    from ClusterShell.NodeSet import NodeSet, NodeSetException, std_group_resolver
    from ClusterShell.NodeUtils import GroupResolverError, GroupSourceError

    shown = text[:100]
    if len(text) > LONGEST_LIST:
        raise UsageError(f"{shown}: a host list may have at most {LONGEST_LIST} characters")
    if sum(_count(part, shown) for part in OPERAND.findall(text)) > most:
        raise UsageError(f"{shown}: more than {most} hosts")
    try:
        nodes = NodeSet(text, resolver=_CheckedGroups(std_group_resolver()))
    except (NodeSetException, AssertionError, ValueError) as error:
        raise UsageError(f"{shown}: {str(error)[:200]} (example of a range: gpu[001-064,070])") from None
    except (GroupResolverError, GroupSourceError) as error:
        raise UsageError(f"{shown}: ClusterShell has no group source {error} (nodeset -LL lists groups)") from None
    if not nodes:
        raise UsageError(f"{shown}: group unknown to ClusterShell, or empty (nodeset -LL lists groups)")
    if len(nodes) > most:
        raise UsageError(f"{shown}: more than {most} hosts")
    return [str(node) for node in nodes]


def _count(part: str, shown: str) -> int:
    """How many names the ranges of `a[1-4]b[1-4]` make."""
    return math.prod(
        sum(_length(one, digits, shown) for one in inner.split(",")) for digits, inner in RANGES.findall(part)
    )


def _length(text: str, digits: str, shown: str) -> int:
    """How many numbers `1-9/2` has; `digits` stand before its bracket."""
    read = RANGE.fullmatch(text)
    if not read:
        raise UsageError(f"{shown}: [{text[:40]}] is not a range (example: gpu[001-064,070])")
    first, last, step = read[1], read[2] or read[1], int(read[3] or 1)
    if digits and len(first) != len(last):
        raise UsageError(f"{shown}: after a digit, both ends of a range need the same number of digits")
    return max(0, int(last) - int(first)) // step + 1


class _CheckedGroups:
    """ClusterShell's groups, with each name checked before a source may put it into a shell command."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def __getattr__(self, name: str) -> Any:
        return getattr(self._groups, name)

    def group_nodes(self, group: str, namespace: str | None = None) -> list[str]:
        """The nodes of a group, as text. UsageError for an invalid name."""
        if not GROUP.fullmatch(group):
            shown = f"{namespace}:{group}" if namespace else group
            raise UsageError(f"@{shown[:100]}: a group name may have letters, digits and _ . : - only")
        found: list[str] = self._groups.group_nodes(group, namespace)
        return found
