"""The size of a value as JSON, without writing it."""

import pytest

from streamweir.errors import MalformedEvent
from streamweir.json_size import JsonSizes
from streamweir.jsontext import write_json


@pytest.mark.parametrize("letter", ["x", '"', "\n", "é", "哈", "\U0001f600"])
@pytest.mark.parametrize("length", [65, 65_535, 65_536, 65_537, 200_000])
def test_size_of_a_long_text_is_that_of_its_json(letter: str, length: int) -> None:
    text = "x" + letter * (length - 1)
    assert JsonSizes(10 << 20).of(text) == len(write_json(text))


def test_long_text_larger_than_allowed_is_refused() -> None:
    with pytest.raises(MalformedEvent):
        JsonSizes(199_999).of("x" * 200_000)
