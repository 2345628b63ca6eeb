# SPDX-License-Identifier: Apache-2.0
"""Any requests of the store's wire protocol, for hypothesis."""

from hypothesis import strategies as st

from railgauge.transports.store.torch_wire import FIELDS, INT64, LENGTH, Query, pack_bytes

short = st.binary(max_size=30)
amounts = st.integers(-(2**63), 2**63 - 1).map(INT64.pack)
nonces = st.binary(min_size=4, max_size=4)


def any_requests(keys=short):
    """Queries with their fields, as RequestReader gives them."""
    return st.one_of(
        st.tuples(st.sampled_from([Query.GET, Query.DELETE_KEY]), st.tuples(keys)),
        st.tuples(st.sampled_from([Query.SET, Query.APPEND]), st.tuples(keys, short)),
        st.tuples(st.just(Query.COMPARE_SET), st.tuples(keys, short, short)),
        st.tuples(st.just(Query.ADD), st.tuples(keys, amounts)),
        st.tuples(st.just(Query.PING), st.tuples(nonces)),
        st.tuples(st.sampled_from([Query.GETNUMKEYS, Query.CANCEL_WAIT]), st.just(())),
        st.tuples(st.sampled_from([Query.WAIT, Query.CHECK, Query.MULTI_GET]), st.lists(keys).map(tuple)),
        st.tuples(st.just(Query.MULTI_SET), st.lists(st.tuples(keys, short)).map(lambda pairs: sum(pairs, ()))),
    )


def encode(query, fields):
    """Such a request on the wire."""
    kinds, count = FIELDS[query], b""
    if kinds.startswith("#"):
        count = LENGTH.pack(len(fields) // len(kinds[1:]))
        kinds = kinds[1:] * len(fields)
    parts = [pack_bytes(field) if kind in "kv" else field for kind, field in zip(kinds, fields, strict=False)]
    return bytes([query]) + count + b"".join(parts)


def cut(stream, steps):
    """The stream in pieces of these sizes, over and over."""
    at, turn = 0, 0
    while at < len(stream):
        size = steps[turn % len(steps)]
        yield stream[at : at + size]
        at, turn = at + size, turn + 1
