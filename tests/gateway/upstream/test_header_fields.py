"""The headers of a response by name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamweir_gateway.upstream.header_fields import codings_of, has_explicit_end, header_fields

_NAMES = st.sampled_from([b"Content-Type", b"content-type", b"Transfer-Encoding", b"X-A", b"x-a"])
_VALUES = st.sampled_from([b"", b"gzip", b"chunked", b"gzip, chunked", b"Text/Plain; x=y"])


@given(st.lists(st.tuples(_NAMES, _VALUES)))
def test_fields_have_every_value_of_a_name_in_order(headers: list[tuple[bytes, bytes]]) -> None:
    fields = header_fields(headers)
    assert fields.keys() == {name.lower() for name, _ in headers}
    for name, value in fields.items():
        given_values = [each for key, each in headers if key.lower() == name]
        assert value == (given_values[0] if name == b"content-type" else b",".join(given_values))


@given(st.lists(_VALUES))
def test_body_ends_explicitly_if_chunks_are_the_last_coding(values: list[bytes]) -> None:
    headers = [(b"Transfer-Encoding", value) for value in values]
    codings = codings_of(b",".join(values))
    fields = header_fields(headers)
    assert has_explicit_end(fields) is (codings[-1:] == ["chunked"])
    with_length = header_fields([*headers, (b"Content-Length", b"3")])
    assert has_explicit_end(with_length) is (codings[-1:] in ([], ["chunked"]))
