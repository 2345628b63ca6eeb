# SPDX-License-Identifier: Apache-2.0
"""Large JSON documents, part by part."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.errors import InputError
from railgauge.topo.files import json_items as module
from railgauge.topo.files.json_items import json_items

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def blocks(text, size):
    data = text.encode()
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.integers(1, 7), st.sampled_from([None, 2]))
def test_members_are_those_of_the_document_however_it_is_cut(document, size, indent):
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    whole = {key: value for key, value in document.items() if not isinstance(value, list)}
    elements = [(key, one) for key, value in document.items() if isinstance(value, list) for one in value]
    found = list(json_items(blocks(text, size), "file"))
    assert {key: value for key, value in found if key in whole} == whole
    assert [(key, value) for key, value in found if key not in whole] == elements


@given(st.lists(VALUES, max_size=5), st.integers(1, 7))
def test_a_list_gives_its_elements(document, size):
    assert [value for _, value in json_items(blocks(json.dumps(document), size), "file")] == document


@pytest.mark.parametrize("text", ["", "7", "{", '{"a"', '{"a": 1', '{"a": [1, 2', "[1 2]", '{"a": }', "{3: 1}", "nul"])
def test_damage_is_an_input_error_with_the_file(text):
    with pytest.raises(InputError, match=r"^file: damaged or cut off JSON"):
        list(json_items(blocks(text, 3), "file"))


def test_a_part_beyond_memory_is_an_error_and_many_parts_are_none(monkeypatch):
    monkeypatch.setattr(module, "MOST_OF_ONE", 100)
    small = (b'{"a": ["' + b"x" * 20 + b'"', *[b', "' + b"x" * 20 + b'"'] * 1000, b"]}")
    assert len(list(json_items(small, "file"))) == 1001
    with pytest.raises(InputError, match="a part of it"):
        list(json_items((b'["', *[b"x" * 50] * 100, b'"]'), "file"))
