# SPDX-License-Identifier: Apache-2.0
"""How a rank tells others of its host where memory of its is (transports/native/shm/segment.h)."""

import re

FORM = re.compile(r"(\d{1,9}:\d{1,9}:\d{1,18}:\d{1,18})?")


class Descriptor(str):
    """`pid:fd:size:inode` of a segment, or nothing. ValueError: it is another text."""

    __slots__ = ()

    def __new__(cls, text: object) -> "Descriptor":
        """Take such a text."""
        if not isinstance(text, str) or not FORM.fullmatch(text):
            raise ValueError("no descriptor of a segment")
        return super().__new__(cls, text)
