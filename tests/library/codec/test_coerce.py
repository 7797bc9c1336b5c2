"""Small conversions of values that an upstream may send."""

from typing import Any

from cases import for_each
from streamweir.codec.coerce import message_meta, meta_of


@for_each("message_id", ["m1", "", 7, 7.5, True, None, {"a": 1}, ["m1"]])
def test_metadata_of_a_message_is_that_of_its_id(message_id: Any) -> None:
    assert message_meta(message_id) == meta_of(message_id=message_id)
