# SPDX-License-Identifier: Apache-2.0
"""Differences as sentences: "NIC mlx5_3 (0000:5d:00.0): x8, 15 of 16 nodes x16"."""

from railgauge.topo.compare.diff import WORDS, value_words
from railgauge.topo.findings.cluster.comparison import MOVED, PRESENCE
from railgauge.topo.findings.cluster.report import FactDifference, Split, Subject
from railgauge.topo.values.node_names import folded

PATH_TYPE = "path type"


def difference_text(one: FactDifference, *, more: int = 0) -> str:
    """The difference and the value of most; `more`: the number of further devices with the same difference."""
    most = f"{one.votes} of {one.of} nodes"
    if one.what == PRESENCE and one.value is None:
        return f"{_names(one.subject, more)} missing, {most} have {_it(more)}"
    if one.what == PRESENCE:
        return f"{_names(one.subject, more)} present, {most} do not have {_it(more)}"
    about = _about(one.subject, one.what, more, is_named=one.value is None)
    return f"{about}{_value(one.what, one.value)}, {most} {value_words(one.what, one.majority)}"


def split_text(one: Split, *, more: int = 0) -> str:
    """Each value with the nodes that have it."""
    groups = ", ".join(f"{_group(one.what, value)} on {folded(names)}" for value, names in one.groups)
    return f"{_about(one.subject, '' if one.what == PRESENCE else one.what, more)}{groups}"


def _names(subject: Subject, more: int) -> str:
    return f"{subject.label} and {more} more are" if more else f"{subject.label} is"


def _it(more: int) -> str:
    return "them" if more else "it"


def _about(subject: Subject, what: str, more: int, *, is_named: bool = False) -> str:
    """The text before the value: the device, and the fact unless its value shows which it is."""
    label = subject.label + (f" and {more} more" if more else "")
    shows_itself = what in (*WORDS, MOVED, PATH_TYPE) and not is_named
    return (f"{label}: " if label else "") + (f"{what} " if what and not shows_itself else "")


def _value(what: str, value: str | None) -> str:
    if what == MOVED:
        return f"is at {value}"
    return f"{value} NVLinks" if what == "NVLinks" and value is not None else value_words(what, value)


def _group(what: str, value: str | None) -> str:
    return ("there" if value else "missing") if what == PRESENCE else _value(what, value)
