# SPDX-License-Identifier: Apache-2.0
"""Captures with changed bytes: an InputError or a capture, and of that a scan or one of our errors."""

import gzip
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from railgauge.fixtures.__main__ import load
from railgauge.topo.errors import Error, InputError
from railgauge.topo.facts.capture import Capture, CaptureReader, dumps, loads
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.redaction.redaction import redact
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.files.compression import unpack
from railgauge.topo.nccl.detect.scan import scan

CAPTURE = load("dgx-h100")
PACKED = {suffix: dumps(CAPTURE, suffix) for suffix in (".tar.zst", ".tar.gz")}
TAR = unpack(PACKED[".tar.gz"], "x")
TEXTS = sorted(CAPTURE.texts)
EDITS = st.lists(st.tuples(st.integers(0, 1 << 30), st.binary(max_size=8), st.integers(0, 8)), min_size=1, max_size=5)
GARBAGE = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "-1", "0x", "9" * 400, "4294967295", "\0", "../..", "Unknown", "\ud7ff", "[" * 50, "²"]),
)


def edited(data, edits):
    """The bytes with some of them overwritten, put in or cut out."""
    for place, put, cut in edits:
        place %= len(data) + 1
        data = data[:place] + put + data[place + cut :]
    return data


def read(data):
    """What the commands do with an input, as far as our own errors allow."""
    try:
        capture = loads(data, "x")
    except InputError:
        return
    assert isinstance(capture, Capture)
    look(capture)


def look(capture):
    try:
        scan(CaptureReader(capture), {})
        MachineFacts(CaptureReader(capture)).read_all()
    except Error:
        pass


fuzz = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("suffix", PACKED)
@given(edits=EDITS)
@fuzz
def test_changed_bytes_of_the_packed_archive(suffix, edits):
    read(edited(PACKED[suffix], edits))


@given(edits=EDITS)
@fuzz
def test_changed_bytes_below_the_packing(edits):
    read(gzip.compress(edited(TAR, edits), 1))


@given(place=st.integers(0, len(TAR)))
@fuzz
def test_a_cut_at_any_place_is_refused(place):
    whole = len(TAR.rstrip(b"\0")) + 1024  # the rest pads the last record
    if place < whole - 512:
        with pytest.raises(InputError):
            loads(gzip.compress(TAR[: place // 512 * 512 if place % 2 else place], 1), "x")


@given(changes=st.dictionaries(st.sampled_from(TEXTS), GARBAGE, min_size=1, max_size=30))
@fuzz
def test_garbage_in_files(changes):
    capture = replace(CAPTURE, texts=CAPTURE.texts | changes)
    look(capture)
    look(redact(capture, bytes(32)))


@given(changes=st.dictionaries(st.sampled_from(sorted(CAPTURE.links)), GARBAGE, min_size=1, max_size=10))
@fuzz
def test_garbage_in_links(changes):
    look(replace(CAPTURE, links=CAPTURE.links | changes))


@given(lost=st.sets(st.sampled_from([*TEXTS, *sorted(CAPTURE.links)]), min_size=1, max_size=60))
@fuzz
def test_lost_files_and_links(lost):
    kept = {kind: {k: v for k, v in getattr(CAPTURE, kind).items() if k not in lost} for kind in ("texts", "links")}
    look(replace(CAPTURE, **kept))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(data=st.data(), value=JSON)
@fuzz
def test_anything_in_the_answers(data, value):
    """One place in the facts holds any JSON: the shapes refuse it, or the scan copes."""
    name = data.draw(st.sampled_from([name for name, facts in CAPTURE.facts.items() if facts]))
    facts = _with(CAPTURE.facts[name], value, data.draw)
    if isinstance(facts, dict) and not misfit(facts, f"facts/{name}.json"):
        look(replace(CAPTURE, facts=CAPTURE.facts | {name: facts}))


def _with(document, value, draw):
    if not isinstance(document, dict | list) or not document or draw(st.integers(0, 3)) == 0:
        return value
    key = draw(st.sampled_from(sorted(document) if isinstance(document, dict) else range(len(document))))
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[key] = _with(document[key], value, draw)
    return copy
