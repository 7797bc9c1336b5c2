"""The response object that clients of the Responses API get: all of its fields, with the values asked for."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from streams import sse_messages
from streamweir.codec.registry import process_dialects
from streamweir.events import Content, Event, SessionEnd, SessionStart, Stamp
from streamweir.http.asked_answer import asked_names
from streamweir.translation.open_writer import open_writer

DEFAULTS: Mapping[str, Any] = {
    "completed_at": None,
    "incomplete_details": None,
    "previous_response_id": None,
    "instructions": None,
    "error": None,
    "tools": [],
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "text": {"format": {"type": "text"}},
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_logprobs": 0,
    "temperature": 1,
    "reasoning": None,
    "user": None,
    "usage": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": True,
    "background": False,
    "service_tier": "default",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
}
ALWAYS = {"id", "object", "created_at", "status", "model", "output", *DEFAULTS}
ASKED: Mapping[str, Any] = {
    "previous_response_id": "resp_before",
    "instructions": "Be brief.",
    "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True}],
    "tool_choice": {"type": "function", "name": "weather"},
    "truncation": "auto",
    "parallel_tool_calls": False,
    "text": {"format": {"type": "json_object"}, "verbosity": "low"},
    "top_p": 0.5,
    "presence_penalty": 0.25,
    "frequency_penalty": -1,
    "top_logprobs": 3,
    "temperature": 0,
    "reasoning": {"effort": "low"},
    "user": "u",
    "max_output_tokens": 100,
    "max_tool_calls": 2,
    "store": False,
    "background": True,
    "service_tier": "flex",
    "metadata": {"k": "v"},
    "safety_identifier": "s",
    "prompt_cache_key": "p",
}
BEGAN = 1_790_000_000_400
ENDED = 1_790_000_007_900
STREAM: tuple[Event, ...] = (
    SessionStart("s", "req_1"),
    Content("Hello", meta={"message_id": "m1"}),
    Content("", is_complete=True, meta={"message_id": "m1"}),
    Content("there", meta={"message_id": "m2"}),
    SessionEnd("completed", "done", {"finish_reason": "stop", "prompt_tokens": 3, "completion_tokens": 4}),
)


def written(request: Mapping[str, Any], framing: str = "sse", **names: Any) -> bytes:
    """Return the body that a client of the Responses API gets for its request."""
    protocol = process_dialects().to_write("openai-responses")
    asked = asked_names(protocol, request, [])._replace(**names)
    writer = open_writer(protocol, framing, request_id="req_1", names=asked)
    for sequence, event in enumerate(STREAM):
        last = sequence == len(STREAM) - 1
        writer.write(event, Stamp("req_1", sequence, ENDED if last else BEGAN))
    writer.finish()
    return writer.take_last()


def responses_for(request: Mapping[str, Any], **names: Any) -> list[dict[str, Any]]:
    """Return every response object of a stream, and of the whole answer to the same request."""
    events = sse_messages(written(request, **names))
    whole = json.loads(written(request, "json", **names))
    return [*(event["response"] for event in events if "response" in event), whole]


def test_response_for_a_bare_request_has_all_fields_with_their_defaults() -> None:
    found = responses_for({"model": "m", "input": "hi"})
    assert len(found) == 4
    for response in found:
        assert response.keys() == ALWAYS
        assert {name: response[name] for name in DEFAULTS} == {
            **DEFAULTS,
            "usage": response["usage"],
            "completed_at": response["completed_at"],
        }


def test_response_for_a_full_request_repeats_the_values_asked_for() -> None:
    for response in responses_for({"model": "m", "input": "hi", **ASKED}):
        assert {name: response[name] for name in ASKED} == ASKED


@pytest.mark.parametrize("name", sorted({*ASKED}))
def test_response_for_a_value_of_a_wrong_type_has_the_default(name: str) -> None:
    for wrong in (None, 5 if isinstance(ASKED[name], str) or name == "tool_choice" else "x"):
        for response in responses_for({"model": "m", "input": "hi", name: wrong}):
            assert response[name] == DEFAULTS[name]


def test_response_for_a_text_without_a_format_keeps_its_other_fields() -> None:
    for response in responses_for({"model": "m", "input": "hi", "text": {"verbosity": "low"}}):
        assert response["text"] == {"format": {"type": "text"}, "verbosity": "low"}


@pytest.mark.parametrize("given", ["conv_1", {"id": "conv_1"}])
def test_response_within_a_conversation_names_it(given: Any) -> None:
    for response in responses_for({"model": "m", "input": "hi", "conversation": given}):
        assert response["conversation"] == {"id": "conv_1"}


def test_response_has_times_of_its_beginning_and_of_its_end() -> None:
    created, in_progress, completed, whole = responses_for({"model": "m", "input": "hi"})
    began, ended = BEGAN // 1000, ENDED // 1000
    assert [response["created_at"] for response in (created, in_progress, completed, whole)] == [began] * 4
    assert [response["status"] for response in (created, in_progress)] == ["in_progress"] * 2
    assert [response["completed_at"] for response in (created, in_progress)] == [None] * 2
    assert [response["completed_at"] for response in (completed, whole)] == [ended] * 2


def test_response_with_a_chosen_id_has_items_with_ids_of_that_response() -> None:
    first, second = "resp_" + "1" * 32, "resp_" + "2" * 32
    ids = [
        [(response["id"], *(item["id"] for item in response["output"])) for response in found]
        for found in (responses_for({"model": "m"}, answer_id=given) for given in (first, second))
    ]
    for given, found in zip((first, second), ids, strict=True):
        assert {response_id for response_id, *_ in found} == {given}
    items = [{item for _, *items in found for item in items} for found in ids]
    assert items[0].isdisjoint(items[1])


def test_items_of_one_response_have_ids_of_their_own() -> None:
    for response in responses_for({"model": "m", "input": "hi"}):
        ids = [item["id"] for item in response["output"]]
        assert len(ids) == len({*ids})


def test_pending_answer_is_a_response_without_output() -> None:
    protocol = process_dialects().to_write("openai-responses")
    encoder = protocol.make_encoder({})
    encoder.names = asked_names(protocol, {"model": "m", **ASKED}, [])._replace(answer_id="resp_1")
    response = encoder.pending_answer("queued", Stamp("req_1", 0, BEGAN))
    assert response is not None
    assert response.keys() == ALWAYS
    assert (response["id"], response["status"], response["output"]) == ("resp_1", "queued", [])
    assert response["created_at"] == BEGAN // 1000
    assert {name: response[name] for name in ASKED} == ASKED


def test_sequence_numbers_count_every_event_from_zero() -> None:
    events = sse_messages(written({"model": "m", "input": "hi"}))
    assert [event["sequence_number"] for event in events] == [*range(len(events))]
