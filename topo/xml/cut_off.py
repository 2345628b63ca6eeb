# SPDX-License-Identifier: Apache-2.0
"""A file that breaks off, as people paste them: its open elements closed, so that what is there can be read."""

import re

TAG = re.compile(
    rb"<!--.*?-->|<\?.*?\?>|<(/?)([A-Za-z_][\w.-]{0,63})((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*?)(/?)>", re.DOTALL
)
COMMENT = b"<!--"


def closed(data: bytes) -> bytes | None:
    """The data up to their last whole tag, with the open elements closed; None if none is open, or tags cross."""
    opened: list[bytes] = []
    end = 0
    for tag in TAG.finditer(data):
        end = tag.end()
        if tag[2] is None or tag[4]:
            continue
        if not tag[1]:
            opened.append(tag[2])
        elif not opened or opened.pop() != tag[2]:
            return None
    return data[:end] + b"".join(b"</%s>" % name for name in reversed(opened)) if opened else None
