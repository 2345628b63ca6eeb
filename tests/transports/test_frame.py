# SPDX-License-Identifier: Apache-2.0
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.transports.frame import HEADER, MAX_PAYLOAD, FrameReader, Kind, pack

payloads = st.none() | st.integers() | st.text() | st.lists(st.integers() | st.text())


@given(st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 2**32 - 1), payloads)), st.integers(1, 50))
def test_frames_survive_any_cutting(frames, step):
    stream = b"".join(pack(*frame) for frame in frames)
    reader = FrameReader()
    got = [frame for at in range(0, len(stream), step) for frame in reader.feed(stream[at : at + step])]
    assert got == frames


def test_a_giant_frame_is_refused():
    with pytest.raises(ValueError, match="a frame of"):
        FrameReader().feed(HEADER.pack(Kind.GATHER, 0, MAX_PAYLOAD + 1))


@given(st.binary(max_size=64))
def test_strangers_bytes_are_an_error_or_nothing(data):
    with contextlib.suppress(ValueError):  # JSONDecodeError and UnicodeDecodeError are of this kind
        FrameReader().feed(data)
