# SPDX-License-Identifier: Apache-2.0
"""Reads an input once, so that a pipe is as good as a file."""

from railgauge.topo.errors import InputError


def read_bytes(path: str, most: int) -> bytes:
    """The bytes of a file or pipe, at most one more than `most`; InputError when it is unreadable."""
    try:
        with open(path, "rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", path) from error
