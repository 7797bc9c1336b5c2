"""Opaque values that encoders write: each once, sealed for its upstream, in streams and in whole answers."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import sse_messages
from streamweir.codec.client_names import ClientNames
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Reference,
    SessionEnd,
    Thinking,
    ToolCallDelta,
    ToolCallStart,
)
from streamweir.opaque.seal import read_seal
from streamweir.translation.open_writer import open_writer
from streamweir.translation.pipeline import Pipeline

UPSTREAM = "https://models.example/v1"
CARRIERS = ["anthropic", "ag-ui", "vercel-ui", "openai-chat", "openai-responses"]
NAMES = ClientNames(echo={"include": ["reasoning.encrypted_content"]})
_SEAL = re.compile(r"sw1\.[A-Za-z0-9_-]+")


def value(number: int) -> dict[str, Any]:
    return {"gemini": {"thoughtSignature": f"signature-{number}"}}


def written(
    protocol: str, events: list[Event], framing: str = "sse", names: ClientNames = NAMES, **options: str
) -> str:
    chosen = {protocol: options} if options else {}
    writer = open_writer(protocol, framing, request_id="req_1", options=chosen, names=names)
    pipeline = Pipeline((writer,), request_id="req_1", stream_tool_arguments=True, upstream=UPSTREAM)
    pipeline.take([*events, SessionEnd("suspended")])
    return writer.take().decode()


def seals(text: str) -> list[tuple[str, str]]:
    """Return kind and signature of each seal, which has to be genuine, in their order."""
    found: list[tuple[str, str]] = []
    for word in dict.fromkeys(_SEAL.findall(text)):
        seal = read_seal(word)
        assert seal is not None
        assert seal.is_for("gemini", UPSTREAM)
        assert not seal.is_for("gemini", "https://other.example/v1")
        found.append((seal.of, seal.value["thoughtSignature"]))
    return found


def call(number: int, opaque: Any = None) -> list[Event]:
    name = f"c{number}"
    return [
        ToolCallDelta(name, "search", '{"q": 1}', for_client=True, opaque=opaque),
        ToolCallStart(name, "search", arguments={"q": 1}, for_client=True, opaque=opaque),
        Interaction(name, "tool", title="search"),
    ]


TURN: list[Event] = [
    Thinking("Let me"),
    Thinking("", opaque=value(1)),
    Thinking("And", opaque=value(2)),
    Content("I look."),
    Content("", opaque=value(3)),
    *call(1, value(4)),
    *call(2),
]
EXPECTED = [
    ("thinking", "signature-1"),
    ("thinking", "signature-2"),
    ("text", "signature-3"),
    ("call", "signature-4"),
]


@pytest.mark.parametrize("protocol", CARRIERS)
def test_stream_has_each_value_as_a_seal(protocol: str) -> None:
    assert sorted(seals(written(protocol, TURN))) == sorted(EXPECTED)


@pytest.mark.parametrize("protocol", ["anthropic", "openai-chat", "openai-responses"])
def test_whole_answer_has_each_value_as_a_seal(protocol: str) -> None:
    assert sorted(seals(written(protocol, TURN, "json"))) == sorted(EXPECTED)


@pytest.mark.parametrize("framing", ["sse", "json"])
@pytest.mark.parametrize("protocol", CARRIERS)
def test_option_off_leaves_every_value_out(protocol: str, framing: str) -> None:
    out = written(protocol, TURN, framing, opaque="off")
    assert "sw1." not in out
    assert "signature-" not in out


def blocks_of(out: str) -> list[dict[str, Any]]:
    """Return the blocks of Anthropic's stream, put together; each is closed before the next one begins."""
    blocks: list[dict[str, Any]] = []
    is_open = False
    for message in sse_messages(out.encode()):
        match message:
            case {"type": "content_block_start", "index": index, "content_block": block}:
                assert not is_open
                assert index == len(blocks)
                blocks.append(dict(block))
                is_open = True
            case {"type": "content_block_delta", "index": index, "delta": delta}:
                assert is_open
                assert index == len(blocks) - 1
                for name in ("text", "thinking", "signature"):
                    blocks[-1][name] = blocks[-1].get(name, "") + delta.get(name, "")
                if "citation" in delta:
                    blocks[-1].setdefault("cited", []).append(delta["citation"]["url"])
            case {"type": "content_block_stop"}:
                assert is_open
                is_open = False
    assert not is_open
    return blocks


def test_anthropic_citations_behind_a_signed_text_are_kept() -> None:
    events: list[Event] = [
        Content("I read."),
        Content("", opaque=value(1)),
        Reference([{"url": "https://example.com/a"}]),
    ]
    text, seal = blocks_of(written("anthropic", events))
    assert text["text"] == "I read."
    assert text["cited"] == ["https://example.com/a"]
    assert (seal["type"], seal["thinking"]) == ("thinking", "")
    assert seals(seal["signature"]) == [("text", "signature-1")]


def test_anthropic_text_behind_a_signed_text_has_its_own_block() -> None:
    events: list[Event] = [Content("One.", opaque=value(1)), Content("Two.", opaque=value(2))]
    kinds = [(block["type"], block.get("text", "")) for block in blocks_of(written("anthropic", events))]
    assert kinds == [("text", "One."), ("thinking", ""), ("text", "Two."), ("thinking", "")]


@pytest.mark.parametrize("protocol", ["anthropic", "openai-responses"])
def test_values_behind_an_open_text_are_written_before_its_end(protocol: str) -> None:
    """One value may wait for the citations of its text; more of them would be kept without a bound."""
    writer = open_writer(protocol, "sse", request_id="req_1", names=NAMES)
    pipeline = Pipeline((writer,), request_id="req_1", upstream=UPSTREAM)
    pipeline.take([Content("One."), *(Content("", opaque=value(number)) for number in range(20))])
    assert len(seals(writer.take().decode())) >= 19


@pytest.mark.parametrize("framing", ["sse", "json"])
def test_anthropic_message_that_begins_with_a_value_begins_its_text_with_an_empty_line(framing: str) -> None:
    events: list[Event] = [
        Content("One.", meta={"message_id": "m1"}),
        Content("", opaque=value(1), meta={"message_id": "m2"}),
        Content("Two.", meta={"message_id": "m2"}),
    ]
    out = written("anthropic", events, framing)
    blocks = blocks_of(out) if framing == "sse" else json.loads(out)["content"]
    assert "".join(block.get("text", "") for block in blocks) == "One.\n\nTwo."


def test_anthropic_values_of_its_own_are_written_as_they_are() -> None:
    events: list[Event] = [
        Thinking("Let me", opaque={"anthropic": {"signature": "one="}}),
        Thinking("", opaque={"anthropic": {"redacted": "cipher"}}),
        Thinking("", opaque={"anthropic": {"signature": "two="}}),
        Content("Hi"),
    ]
    expected = [
        {"type": "thinking", "thinking": "Let me", "signature": "one="},
        {"type": "redacted_thinking", "data": "cipher"},
        {"type": "thinking", "thinking": "", "signature": "two="},
    ]
    streamed = [
        {name: item for name, item in block.items() if item or name == "thinking"}
        for block in blocks_of(written("anthropic", events))
    ]
    assert streamed[:1] == expected[:1]
    assert (streamed[1]["type"], streamed[1]["data"]) == ("redacted_thinking", "cipher")
    assert streamed[2] == expected[2]
    whole = json.loads(written("anthropic", events, "json"))
    assert whole["content"][:3] == expected


@pytest.mark.parametrize("framing", ["sse", "json"])
def test_responses_items_beside_seals_have_ids_of_their_own(framing: str) -> None:
    events: list[Event] = [
        Content("One.", opaque=value(1)),
        Thinking("Let me"),
        Content("Two.", opaque=value(2)),
        Thinking("", opaque=value(3)),
        Content("Three.", opaque=value(4)),
        *call(1, value(5)),
    ]
    out = written("openai-responses", events, framing)
    answer = json.loads(out) if framing == "json" else sse_messages(out.encode())[-1]["response"]
    ids = [item["id"] for item in answer["output"]]
    assert len(set(ids)) == len(ids) == 10


@pytest.mark.parametrize(("store", "count"), [(False, 4), (True, 0), (None, 0)])
def test_responses_request_decides_about_values(store: bool | None, count: int) -> None:
    names = ClientNames(echo={"store": store, "include": ["other"]})
    for framing in ("sse", "json"):
        assert len(seals(written("openai-responses", TURN, framing, names))) == count


@given(
    st.lists(
        st.sampled_from(["think", "signed", "text", "signed text", "value", "call", "cited"]), max_size=12
    ),
    st.sampled_from(CARRIERS),
)
def test_any_turn_has_each_value_once(pieces: list[str], protocol: str) -> None:
    events: list[Event] = []
    for number, piece in enumerate(pieces):
        match piece:
            case "think":
                events.append(Thinking("t"))
            case "signed":
                events.append(Thinking("t", opaque=value(number)))
            case "text":
                events.append(Content("x"))
            case "signed text":
                events.append(Content("x", opaque=value(number)))
            case "value":
                events.append(Content("", opaque=value(number)))
            case "call":
                events += call(number, value(number))
            case "cited":
                events.append(Reference([{"url": "https://example.com/a"}]))
    out = written(protocol, events)
    expected = [
        number for number, piece in enumerate(pieces) if piece in ("signed", "signed text", "value", "call")
    ]
    assert sorted(seal[1] for seal in seals(out)) == sorted(f"signature-{number}" for number in expected)
    if protocol == "anthropic":
        blocks_of(out)
