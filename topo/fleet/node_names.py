# SPDX-License-Identifier: Apache-2.0
"""Names of nodes folded, gpu[001-003], as ClusterShell's NodeSet writes them."""

import re
from collections.abc import Iterable

from railgauge.topo.natural_order import natural

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a name that means nothing else to NodeSet, and no long number
LONG_NUMBER = re.compile(r"[0-9]{10}")


def folded(names: Iterable[str]) -> str:
    """The names as one text, in their natural order; names that no range can hold stand by themselves."""
    names = sorted(set(names), key=natural)
    plain = [name for name in names if PLAIN.fullmatch(name) and not LONG_NUMBER.search(name)]
    others = [name for name in names if name not in set(plain)] if len(plain) < len(names) else []
    return ",".join(filter(None, [_range(plain), *others]))


def _range(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
