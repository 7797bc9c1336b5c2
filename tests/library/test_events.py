"""The `data` of events on the wire."""

from typing import Any

import pytest

from streamweir.events import WIRE_FIELDS, Data, Event, ToolCallEnd, ToolCallStart, wire_data


def written_generally(event: Event) -> dict[str, Any]:
    values = {name: getattr(event, name) for name in WIRE_FIELDS[type(event)]}
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize(
    "event",
    [
        Data("custom", {"name": "a"}),
        Data("custom", {}, metadata={"a": 1}),
        ToolCallStart("c1", "search", arguments={"q": "tea"}),
        ToolCallStart("c1", "search"),
        ToolCallStart("c1", "search", "looks for tea", {"q": "tea"}),
        ToolCallStart("c1", "search", opaque={"gemini": {"signature": "s"}}),
        ToolCallStart("c1", "search", for_client=True),
        ToolCallEnd("c1", "success", {"rows": 3}),
        ToolCallEnd("c1", "success", ""),
        ToolCallEnd("c1", "success"),
        ToolCallEnd("c1", "failed", "no", {"code": "TOOL_FAILED", "message": "No."}),
        ToolCallEnd("c1", "success", 0, tool_name="search", for_users=True),
    ],
)
def test_wire_data_of_any_event_has_its_present_fields_in_their_order(event: Event) -> None:
    assert [*wire_data(event).items()] == [*written_generally(event).items()]
