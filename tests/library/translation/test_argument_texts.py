"""The texts of arguments in whole answers: the upstream's own, unless they differ from the call."""

import json
from typing import Any

import pytest

from streamweir.translation.translator import Translator

ODD = '{"city": "Ülm",  "station": 12345678901234567890, "height": 1.0}'


def anthropic(*pieces: str) -> bytes:
    """A stream with one call, whose arguments come in pieces."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": p},
            }
            for p in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def arguments_in(target: str, body: bytes) -> str:
    """The text of the arguments in the whole answer."""
    translator = Translator(speaks="anthropic", answers=target, framing="json")
    answer = json.loads(b"".join([translator.feed(body), translator.close()]))
    if target == "openai-chat":
        (call,) = answer["choices"][0]["message"]["tool_calls"]
        return str(call["function"]["arguments"])
    (item,) = [item for item in answer["output"] if item["type"] == "function_call"]
    return str(item["arguments"])


TARGETS = ("openai-chat", "openai-responses")


@pytest.mark.parametrize("target", TARGETS)
def test_whole_answer_has_the_text_of_the_arguments_byte_for_byte(target: str) -> None:
    assert arguments_in(target, anthropic(*ODD)) == ODD


@pytest.mark.parametrize("target", TARGETS)
def test_call_without_a_text_of_arguments_is_written_anew(target: str) -> None:
    assert arguments_in(target, anthropic()) == "{}"
