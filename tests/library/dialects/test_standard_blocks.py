"""The blocks that the standard encoder writes in a shorter way are those of the frames that it encodes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from streamweir.dialects.standard.encode import StandardEncoder
from streamweir.events import Content, Event, SessionEnd, SessionStart, Stamp
from streamweir.framing import write_sse

FIELDS: dict[str, Any] = {
    "content": "é\u2028",
    "format": "html",
    "is_complete": True,
    "op": "replace",
    "channel": "notes",
    "whole": "repeat",
    "opaque": {"legacy": {"a": 1}},
    "meta": {"message_id": "m"},
}
"""A value for each field of a text."""

TEXTS = [
    Content(**{"content": "", **dict(chosen)})
    for count in range(len(FIELDS) + 1)
    for chosen in combinations(FIELDS.items(), count)
]
OTHERS: list[Event] = [
    SessionStart("s", "req_1"),
    SessionStart("s", "req_2", protocol="1.0"),
    SessionEnd(),
    SessionEnd("completed", "done", {"events": 3}, meta={"run_id": "r"}),
]


@pytest.mark.parametrize("sequence", [0, 7, 1023, 1024, 123456])
@pytest.mark.parametrize("events", [TEXTS, OTHERS], ids=["texts", "others"])
def test_block_of_an_event_is_that_of_its_frame(events: list[Event], sequence: int) -> None:
    assert set(FIELDS) == set(Content.__struct_fields__)
    stamp = Stamp("req_1", sequence, 1_790_000_000_123)
    for event in events:
        (frame,) = StandardEncoder().encode(event, stamp)
        assert StandardEncoder().sse_block(event, stamp) == write_sse(frame)
