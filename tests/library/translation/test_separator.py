"""A read is split at a long separator as at a short one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.translation.reading.separator import Separator, searched_part

LETTERS = st.binary(max_size=300).map(lambda data: data.replace(b"\n", b"x"))
PIECES = st.lists(st.sampled_from([b"", b"a", b'"}', b"x" * 200, b"}}", b"data: "]), min_size=1, max_size=9)


@given(LETTERS, LETTERS, PIECES)
def test_pieces_between_separators_are_found(before: bytes, behind: bytes, pieces: list[bytes]) -> None:
    whole = before + b"\n\n" + behind
    assert Separator(whole).split(whole.join(pieces)) == pieces


@given(LETTERS, LETTERS, PIECES, st.integers(0, 10_000), st.binary(min_size=1, max_size=2))
def test_bytes_with_other_separators_are_not_taken_for_pieces_without_line_ends(
    before: bytes, behind: bytes, pieces: list[bytes], place: int, change: bytes
) -> None:
    whole = before + b"\n\n" + behind
    data = whole.join(pieces)
    at = place % (len(data) + 1)
    changed = data[:at] + change + data[at + len(change) :]
    found = Separator(whole).split(changed)
    if found is not None:
        assert whole.join(found) == changed
        assert [b"\n" in piece for piece in found] == [b"\n" in piece for piece in changed.split(whole)]


@pytest.mark.parametrize("before", [0, 1, 23, 24, 25, 500])
@pytest.mark.parametrize("behind", [190, 191, 500])
def test_long_separator_is_searched_for_by_few_bytes(before: int, behind: int) -> None:
    part = searched_part(b"x" * before + b"\n\n" + b"y" * behind)
    assert len(part) == 48
    assert b"\n" in part


@given(st.binary(max_size=300), PIECES)
def test_separator_without_line_feed_splits_at_all_of_its_bytes(whole: bytes, pieces: list[bytes]) -> None:
    separator = whole.replace(b"\n", b"x") + b"\r\r"
    assert Separator(separator).split(separator.join(pieces)) == separator.join(pieces).split(separator)
