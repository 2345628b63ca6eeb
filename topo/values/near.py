# SPDX-License-Identifier: Apache-2.0
"""The known name that a wrong one was probably meant to be."""

from collections.abc import Iterable


def did_you_mean(text: str, names: Iterable[str]) -> str:
    """`; did you mean NAME` for the most similar name, whatever its case; "" if none is similar."""
    import difflib

    known = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(text.casefold(), known, 1)
    return f"; did you mean {known[near[0]]}" if near else ""
