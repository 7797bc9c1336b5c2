"""What of Anthropic's protocol no recorded stream shows."""

import json

from hypothesis import given
from hypothesis import strategies as st

from streams import events_of, random_cuts, translate
from streamweir.dialects.anthropic.encode_extent import ObjectExtent

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES), st.integers(0, 9))
def test_json_object_is_whole_with_its_last_character(value: dict[str, object], seed: int) -> None:
    text = json.dumps(value)
    extent = ObjectExtent()
    for piece in random_cuts(text[:-1].encode(), seed):
        extent.add(piece.decode())
        assert not extent.is_whole
    extent.add(text[-1])
    assert extent.is_whole


def test_text_amid_a_call_waits_for_its_end() -> None:
    def chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
        message = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        return b"data: " + json.dumps(message).encode() + b"\n\n"

    def piece(arguments: str) -> dict[str, object]:
        function = {"name": "dim", "arguments": arguments}
        return {"tool_calls": [{"index": 0, "id": "c_1", "function": function}]}

    body = [
        chunk(piece('{"a":')),
        chunk({"content": "Meanwhile."}),
        chunk(piece(" 1}")),
        chunk({}, "tool_calls"),
    ]
    written = translate(body, speaks="openai-chat", answers="anthropic", framing="sse").decode()
    assert written.index("content_block_stop") < written.index("Meanwhile.")
    assert written.count('"type":"tool_use"') == 1


def test_counts_of_a_server_are_bounded() -> None:
    many = {"count": [[{"a": 1}]] * 1000} | {f"count_{number}": number for number in range(1000)}
    usage = {**many, "input_tokens": 3, "output_tokens": 4}
    messages = (
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    )
    body = b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)
    *_, rest, _, end = events_of(translate([body], speaks="anthropic"))
    kept = end["metadata"]["extra"]["summary"]
    assert end["data"]["summary"]["total_tokens"] == 7
    assert 90 < len(kept) < 120
    assert {**rest["data"]["data"]["value"], **kept} == many


def test_container_of_the_end_is_passed_on_with_the_summary() -> None:
    container = {"id": "container_1", "expires_at": "2026-04-24T11:13:36Z"}
    messages: list[dict[str, object]] = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "container": container}},
        {"type": "message_stop"},
    ]
    body = b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)
    events = events_of(translate([body], speaks="anthropic"))
    assert events[-1]["metadata"]["extra"] == {"summary": {"container": container}}
