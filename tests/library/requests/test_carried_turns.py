"""Turns that a client has carried: the upstream that made them sees them again, and no other one does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carried_turns import ASKED, CLIENTS, Turn, conversation
from streamweir import read_request, write_request
from streamweir.codec.registry import process_dialects
from streamweir.jsontext import write_json_text
from streamweir.requests.canonical import Message
from streamweir.requests.opaque_values import OpaqueValues
from streamweir.requests.own_turns import with_own_turns
from streamweir.requests.reading import parse_body, read_canonical
from streamweir.requests.wire_body import wire_body
from streamweir.requests.writing import plan_request
from streamweir.translation.requests import request_target

UPSTREAM = "the-model"
CITY = {"city": "Ulm"}
MADE = "call_0123456789abcdef01234567"

ANTHROPIC = [
    Turn(
        "anthropic",
        UPSTREAM,
        "I need the weather.",
        {"signature": "c2ln+/1="},
        "I look.",
        None,
        [("toolu_1", "weather", CITY, None)],
    ),
    Turn(
        "anthropic",
        UPSTREAM,
        "",
        {"redacted": "cmVk"},
        "",
        None,
        [("toolu_2", "weather", CITY, None), ("toolu_3", "wind", {}, None)],
    ),
    Turn("anthropic", UPSTREAM, "", {"signature": "c2lnMg=="}, "It is warm."),
]
ANTHROPIC_TURNS = [
    [
        {"type": "thinking", "thinking": "I need the weather.", "signature": "c2ln+/1="},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": CITY},
    ],
    [
        {"type": "redacted_thinking", "data": "cmVk"},
        {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": CITY},
        {"type": "tool_use", "id": "toolu_3", "name": "wind", "input": {}},
    ],
    [
        {"type": "thinking", "thinking": "", "signature": "c2lnMg=="},
        {"type": "text", "text": "It is warm."},
    ],
]

GEMINI = [
    Turn(
        "gemini",
        UPSTREAM,
        "Hm.",
        None,
        "I look.",
        None,
        [
            (MADE, "weather", CITY, {"thoughtSignature": "c2ln"}),
            ("call_0123456789abcdef01234568", "wind", {}, None),
        ],
    ),
    Turn("gemini", UPSTREAM, None, None, "", None, [("fc-3", "wind", {}, {"thoughtSignature": "c2lnMg=="})]),
    Turn("gemini", UPSTREAM, None, None, "Warm.", {"thoughtSignature": "c2lnMw=="}),
]
GEMINI_TURNS = [
    [
        {"text": "I look."},
        {"functionCall": {"name": "weather", "args": CITY}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "wind", "args": {}}},
    ],
    [{"functionCall": {"name": "wind", "args": {}, "id": "fc-3"}, "thoughtSignature": "c2lnMg=="}],
    [{"text": "Warm.", "thoughtSignature": "c2lnMw=="}],
]

DEEPSEEK = [
    Turn(
        "openai-chat",
        UPSTREAM,
        "I need the weather.",
        {"field": "reasoning_content"},
        "I look.",
        None,
        [("call_1", "weather", CITY, None)],
    ),
    Turn(
        "openai-chat",
        UPSTREAM,
        "",
        {"field": "reasoning_content"},
        "",
        None,
        [("call_2", "weather", CITY, None), ("call_3", "wind", {}, None)],
    ),
    Turn("openai-chat", UPSTREAM, None, None, "Warm."),
]


def called(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


DEEPSEEK_TURNS = [
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "I need the weather.",
        "tool_calls": [called("call_1", "weather", '{"city":"Ulm"}')],
    },
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "",
        "tool_calls": [called("call_2", "weather", '{"city":"Ulm"}'), called("call_3", "wind", "{}")],
    },
    {"role": "assistant", "content": "Warm."},
]

DETAILS = [{"type": "reasoning.encrypted", "data": "ZGF0YQ==", "format": "google-gemini-v1", "index": 0}]
OPENROUTER = [
    Turn(
        "openai-chat",
        UPSTREAM,
        "Hm.",
        {"field": "reasoning", "details": DETAILS},
        "",
        None,
        [("call_1", "weather", CITY, {"extra_content": {"google": {"thought_signature": "c2ln"}}})],
    ),
]
OPENROUTER_TURNS = [
    {
        "role": "assistant",
        "content": None,
        "reasoning_details": DETAILS,
        "tool_calls": [
            {
                **called("call_1", "weather", '{"city":"Ulm"}'),
                "extra_content": {"google": {"thought_signature": "c2ln"}},
            }
        ],
    },
]

RESPONSES = [
    Turn(
        "openai-responses",
        UPSTREAM,
        "I need the weather.",
        {"id": "rs_1", "encrypted_content": "c2ln+/1="},
        "I look.",
        {"id": "msg_1"},
        [("call_1", "weather", CITY, {"id": "fc_1"}), ("call_2", "wind", {}, {"id": "fc_2"})],
    ),
    Turn(
        "openai-responses",
        UPSTREAM,
        "",
        {"id": "rs_2", "encrypted_content": "c2lnMg=="},
        "",
        None,
        [("call_3", "wind", {}, {"id": "fc_3"})],
    ),
    Turn("openai-responses", UPSTREAM, None, None, "It is warm."),
]
RESPONSES_INPUT = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "I need the weather."}],
        "encrypted_content": "c2ln+/1=",
    },
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "I look."}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "weather",
        "arguments": '{"city":"Ulm"}',
    },
    {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "wind", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "21"},
    {"type": "function_call_output", "call_id": "call_2", "output": "21"},
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "c2lnMg=="},
    {"type": "function_call", "id": "fc_3", "call_id": "call_3", "name": "wind", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_3", "output": "21"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is warm."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]},
]


def written(body: dict[str, Any], protocol: str, dialect: str, upstream: str = UPSTREAM) -> dict[str, Any]:
    request = read_request(body, protocol=protocol)
    (found,) = write_request(request, dialect=dialect, upstream=upstream)
    result: dict[str, Any] = found["body"]
    return result


@pytest.mark.parametrize("protocol", CLIENTS)
def test_anthropic_sees_signed_thinking_again(protocol: str) -> None:
    body = written(conversation(protocol, ANTHROPIC), protocol, "anthropic")
    assert [item["content"] for item in body["messages"] if item["role"] == "assistant"] == ANTHROPIC_TURNS


@pytest.mark.parametrize("protocol", CLIENTS)
def test_gemini_sees_each_signature_on_its_own_part(protocol: str) -> None:
    body = written(conversation(protocol, GEMINI), protocol, "gemini")
    assert [item["parts"] for item in body["contents"] if item["role"] == "model"] == GEMINI_TURNS
    results = [
        part["functionResponse"]
        for item in body["contents"]
        for part in item["parts"]
        if "functionResponse" in part
    ]
    assert [result.get("id") for result in results] == [None, None, "fc-3"]


@pytest.mark.parametrize("protocol", CLIENTS)
def test_responses_sees_reasoning_and_ids_again(protocol: str) -> None:
    """Items without encrypted reasoning before them have no ids."""
    body = written(conversation(protocol, RESPONSES), protocol, "openai-responses")
    found = [
        {**item, "arguments": item["arguments"].replace('": "', '":"')} if "arguments" in item else item
        for item in body["input"]
    ]
    assert found == RESPONSES_INPUT


def without_space(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn whose arguments are written as by a client that writes JSON without spaces."""
    calls = turn.get("tool_calls", [])
    for call in calls:
        call["function"]["arguments"] = call["function"]["arguments"].replace('": "', '":"')
    return turn


@pytest.mark.parametrize("protocol", CLIENTS)
@pytest.mark.parametrize(("turns", "expected"), [(DEEPSEEK, DEEPSEEK_TURNS), (OPENROUTER, OPENROUTER_TURNS)])
def test_openai_chat_sees_its_fields_again(
    protocol: str, turns: list[Turn], expected: list[dict[str, Any]]
) -> None:
    body = written(conversation(protocol, turns), protocol, "openai-chat")
    found = [without_space(item) for item in body["messages"] if item["role"] == "assistant"]
    assert found == expected


OTHERS = (
    "anthropic",
    "gemini",
    "openai-chat",
    "openai-responses",
    "ollama",
    "ag-ui",
    "vercel-ui",
    "legacy",
    "dify",
    "coze",
    "standard",
)
SECRETS = (
    "I need the weather.",
    "Hm.",
    "c2ln",
    "cmVk",
    "ZGF0YQ",
    "sw1.",
    "reasoning_content",
    "thoughtSignature",
)


@pytest.mark.parametrize("protocol", CLIENTS)
@pytest.mark.parametrize(
    "turns",
    [ANTHROPIC, GEMINI, DEEPSEEK, OPENROUTER, RESPONSES],
    ids=["anthropic", "gemini", "deepseek", "openrouter", "responses"],
)
def test_thinking_of_one_upstream_goes_to_no_other(protocol: str, turns: list[Turn]) -> None:
    """Neither to an upstream of another dialect nor, as a seal, to another upstream of the same one."""
    body = conversation(protocol, turns)
    own = turns[0].dialect
    is_sealed = protocol not in ("standard", own)
    for dialect in OTHERS:
        if dialect in (own, "standard") and not is_sealed:
            continue
        text = write_json_text(written(body, protocol, dialect, upstream="another-model"))
        assert not [word for word in SECRETS if word in text], (dialect, text)


@pytest.mark.parametrize("protocol", CLIENTS)
def test_groq_gets_no_field_of_its_own_back(protocol: str) -> None:
    turn = Turn(
        "openai-chat", UPSTREAM, "Hm.", {"field": "reasoning"}, "", None, [("call_1", "wind", {}, None)]
    )
    body = written(conversation(protocol, [turn]), protocol, "openai-chat")
    assert "reasoning" not in write_json_text(body)


def test_two_blocks_of_thinking_keep_both_signatures_and_their_places() -> None:
    blocks = [
        {"type": "thinking", "thinking": "one", "signature": "MQ=="},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "thinking", "thinking": "two", "signature": "Mg=="},
        {"type": "text", "text": "So."},
        {"type": "tool_use", "id": "b", "name": "f", "input": {}},
    ]
    results = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in "ab"]
    asked = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": results},
    ]
    request = read_request({"messages": asked}, protocol="anthropic")
    assert request["messages"][1]["content"] == [
        {"type": "reasoning", "text": "one", "opaque": {"anthropic": {"signature": "MQ=="}}},
        {"type": "tool_call", "id": "a"},
        {"type": "reasoning", "text": "two", "opaque": {"anthropic": {"signature": "Mg=="}}},
        {"type": "text", "text": "So."},
    ]
    (found,) = write_request(request, dialect="anthropic")
    assert found["body"]["messages"][1]["content"] == blocks
    assert read_request(dict(request), protocol="standard")["messages"] == request["messages"]


def chat_turn(text: str, *values: dict[str, Any]) -> dict[str, Any]:
    """The body of a chat client whose turn has these values, sealed, and one call."""
    turn = Turn("anthropic", UPSTREAM)
    details = [
        {
            "type": "reasoning.encrypted",
            "data": turn.seal(value, "thinking"),
            "format": "streamweir-1",
            "index": index,
        }
        for index, value in enumerate(values)
    ]
    message = {"role": "assistant", "content": None, "reasoning_content": text, "reasoning_details": details}
    call = called("c", "f", "{}")
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    return {"messages": [{"role": "user", "content": "hi"}, {**message, "tool_calls": [call]}, result]}


@pytest.mark.parametrize(
    ("lengths", "texts"),
    [((3, 0, 3), ["one", "", "two"]), ((3, 0, 9), ["onetwo", "", ""]), ((None, 0, 1), ["onetwo", "", ""])],
)
def test_text_of_several_sealed_thoughts_is_cut_by_their_lengths(
    lengths: tuple[int | None, ...], texts: list[str]
) -> None:
    values = [{"signature": f"c2ln{length}", "length": length} for length in lengths]
    body = written(chat_turn("onetwo", *values), "openai-chat", "anthropic")
    blocks = body["messages"][1]["content"]
    assert [block["thinking"] for block in blocks[:-1]] == texts
    assert [block["signature"] for block in blocks[:-1]] == [value["signature"] for value in values]


def test_anthropic_message_never_ends_with_thinking() -> None:
    block = {"type": "thinking", "thinking": "one", "signature": "MQ=="}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hm"}, block]},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": "go on"},
    ]
    body = written({"messages": messages}, "anthropic", "anthropic")
    assert [item["content"] for item in body["messages"] if item["role"] == "assistant"] == ["Hm"]


ARGUMENTS = '{"n": 12345678901234567890123, "x": 1.0,  "city":"\\u00dclm"}'


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"])
def test_arguments_are_written_byte_for_byte(dialect: str) -> None:
    call = called("c", "f", ARGUMENTS)
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]
    reader = process_dialects().find("openai-chat").request_reader
    assert reader is not None
    request = read_canonical(reader, parse_body({"messages": messages}))
    assert request["messages"][1]["tool_calls"][0]["arguments_text"] == ARGUMENTS
    target = request_target(process_dialects().find(dialect))
    (sent,) = plan_request(request, target).requests
    text = write_json_text(ARGUMENTS) if dialect.startswith("openai-") else ARGUMENTS
    assert text in wire_body(sent).data.decode()


def test_arguments_text_of_other_arguments_is_left_out() -> None:
    call = {"id": "c", "name": "f", "arguments": {"a": 1}, "arguments_text": '{"a": 2}'}
    asked = [{"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": "hi"}]
    request = read_request({"messages": asked}, protocol="standard")
    assert request["messages"][0]["tool_calls"] == [{"id": "c", "name": "f", "arguments": {"a": 1}}]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just("sw1.AAAA"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "seal",
                    "opaque",
                    "streamweir",
                    "anthropic",
                    "gemini",
                    "signature",
                    "field",
                    "details",
                    "data",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def edited(value: Any, data: st.DataObject) -> Any:
    """A body of a client in which opaque values were changed, cut, or replaced by anything."""
    if isinstance(value, dict):
        return {key: edited(item, data) for key, item in value.items()}
    if isinstance(value, list):
        return [edited(item, data) for item in value]
    if isinstance(value, str) and value.startswith("sw1."):
        at = data.draw(st.integers(len("sw1."), len(value) - 1))  # without the prefix it is no seal
        return data.draw(
            st.sampled_from(
                [value[:at], value[:at] + "A" + value[at:], value[:at] + "é", "sw1.", value + value]
            )
        )
    return value


@given(
    st.data(), st.sampled_from(CLIENTS), st.sampled_from([ANTHROPIC, GEMINI, DEEPSEEK, OPENROUTER, RESPONSES])
)
def test_edited_seal_reaches_no_upstream(data: st.DataObject, protocol: str, turns: list[Turn]) -> None:
    body = edited(conversation(protocol, turns), data)
    for dialect in ("anthropic", "gemini", "openai-chat", "openai-responses", "ollama"):
        text = write_json_text(written(body, protocol, dialect))
        assert "sw1." not in text
        if protocol not in ("standard", turns[0].dialect):
            assert not [word for word in ("c2ln", "cmVk", "ZGF0YQ") if word in text]


PLACES = (
    "opaque",
    "signature",
    "data",
    "encryptedValue",
    "providerMetadata",
    "callProviderMetadata",
    "reasoning_details",
    "reasoning_content",
    "reasoning",
    "extra_content",
    "encrypted_content",
)


TEXTS = ("reasoning_content", "reasoning")
NO_TEXT = JUNK.filter(lambda value: not isinstance(value, str))


def replaced(value: Any, data: st.DataObject) -> Any:
    if isinstance(value, dict):
        return {
            key: data.draw(NO_TEXT if key in TEXTS else JUNK) if key in PLACES else replaced(item, data)
            for key, item in value.items()
        }
    return [replaced(item, data) for item in value] if isinstance(value, list) else value


@given(
    st.data(), st.sampled_from(CLIENTS), st.sampled_from([ANTHROPIC, GEMINI, DEEPSEEK, OPENROUTER, RESPONSES])
)
def test_malformed_opaque_value_is_lost(data: st.DataObject, protocol: str, turns: list[Turn]) -> None:
    body = replaced(conversation(protocol, turns), data)
    for dialect in (
        *("anthropic", "gemini", "openai-chat", "openai-responses"),
        "ollama",
        "standard",
        "legacy",
    ):
        assert "sw1." not in write_json_text(written(body, protocol, dialect))


def test_kept_turn_keeps_its_message_without_any_part_of_it() -> None:
    """A message with a turn is written as the upstream made it, so nothing of it is left out before."""
    kept: Message = {"role": "assistant", "content": [{"type": "reasoning", "text": "x"}], "turn": b"{}"}
    for dialect in ("anthropic", "gemini", "openai-chat"):
        own = with_own_turns({"messages": [kept]}, OpaqueValues(dialect, UPSTREAM, dialect))
        assert own["messages"] == [kept]


COLLECTED = sorted(name for name, dialect in process_dialects().items() if dialect.turn_collector)


@pytest.mark.parametrize("dialect", COLLECTED)
@pytest.mark.parametrize("turn", [b"", b"{", b"7", b'"x"', b'{"content": [7], "parts": [7]} 7', b"[7]"])
def test_kept_turn_that_cannot_be_read_is_lost(dialect: str, turn: bytes) -> None:
    """The store is not trusted: the canonical message is written in place of such a turn."""
    target = request_target(process_dialects()[dialect])
    asked: Message = {"role": "user", "content": "Is it warm?"}
    shown: Message = {"role": "assistant", "content": "I look."}
    kept: Message = {**shown, "turn": turn}
    bodies = [
        wire_body(plan_request({"messages": [asked, own, asked]}, target).requests[0]).data
        for own in (shown, kept)
    ]
    assert b"I look." in bodies[0]
    assert bodies[1] == bodies[0]


def test_responses_request_is_mended_with_the_ids_that_name_calls() -> None:
    writer = process_dialects()["openai-responses"].request_writer
    assert writer is not None
    assert writer.mend is not None
    call = {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "action": {}}
    output = {"type": "local_shell_call_output", "id": "call_1", "output": "done"}
    approval = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "buy", "server_label": "shop"}
    items = [{"type": "reasoning", "id": "rs_1", "summary": []}, call, output, approval]
    mended = writer.mend({"input": items}, "Item with id 'rs_1' not found")
    assert mended == {"input": [{n: v for n, v in call.items() if n != "id"}, output, approval]}
    assert writer.mend({"input": [output, approval]}, "Item with id 'call_1' not found") is None


COMPACTION = {"content": "Before: tea.", "encrypted_content": "ZW5j+/8=", "signature": "c2lnMw=="}


def test_compaction_of_an_anthropic_client_goes_back_in_its_place() -> None:
    block = {"type": "compaction", **COMPACTION}
    said = [block, {"type": "text", "text": "Go on."}]
    asked = {"role": "user", "content": "Tea?"}
    body = {"model": "m", "messages": [asked, {"role": "assistant", "content": said}, asked]}
    request = read_request(body, protocol="anthropic")
    (sent,) = write_request(request, dialect="anthropic")
    assert sent["body"]["messages"][1]["content"] == said
    (other,) = write_request(request, dialect="openai-chat")
    assert "Before: tea." not in write_json_text(other["body"])


@pytest.mark.parametrize("protocol", [name for name in CLIENTS if name != "anthropic"])
def test_compaction_is_carried_by_clients_of_other_protocols(protocol: str) -> None:
    turn = Turn("anthropic", UPSTREAM, "", {"compaction": COMPACTION}, "Go on.")
    sent = written(conversation(protocol, [turn]), protocol, "anthropic")
    assert {"type": "compaction", **COMPACTION} in sent["messages"][1]["content"]


@pytest.mark.parametrize("protocol", CLIENTS)
def test_text_and_calls_with_values_are_one_message_of_a_chat_model(protocol: str) -> None:
    value = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    turn = Turn("openai-chat", UPSTREAM, text="I look.", calls=[("call_1", "weather", CITY, value)])
    body = written(conversation(protocol, [turn]), protocol, "openai-chat")
    (message,) = [message for message in body["messages"] if message["role"] == "assistant"]
    assert message["content"] == "I look."
    assert message["tool_calls"][0]["extra_content"] == value["extra_content"]
